//! The check of the settings of single addons.

use super::super::{
    ADDON_NAMES, LIMITS, MAX_ADDONS, MAX_PATCH, MAX_PATCHES, MAX_POST_RENDERERS, MAX_VALUES_FROM,
    NAME_FOR_CLUSTER, SECRET_KEY, TARGET_PATH,
};
use super::Violations;
use crate::api::AddonSettings;
use crate::api::flux_fields::{Decryption, Image, Patch, PatchTarget, PostRenderer, ValuesReference};
use crate::names::AddonName;

impl Violations {
    pub(super) fn addon(&mut self, addon: &AddonSettings, field: &str) {
        let is_addon = |name: &String| name.parse::<AddonName>().is_ok();
        let others = addon.depends_on.len() <= MAX_ADDONS && addon.depends_on.iter().all(is_addon);
        self.check(others, &format!("{field}.dependsOn"), ADDON_NAMES);
        let of = format!("{field}.valuesFrom");
        self.check(addon.values_from.len() <= MAX_VALUES_FROM, &of, LIMITS);
        for (at, reference) in addon.values_from.iter().enumerate() {
            self.values_reference(reference, &format!("{of}[{at}]"));
        }
        let of = format!("{field}.postRenderers");
        self.check(addon.post_renderers.len() <= MAX_POST_RENDERERS, &of, LIMITS);
        for (at, renderer) in addon.post_renderers.iter().enumerate() {
            self.post_renderer(renderer, &format!("{of}[{at}].kustomize"));
        }
        if let Some(decryption) = &addon.decryption {
            self.decryption(decryption, &format!("{field}.decryption"));
        }
    }

    fn values_reference(&mut self, reference: &ValuesReference, field: &str) {
        let is_name = NAME_FOR_CLUSTER.fits(&reference.name, 253);
        self.check(is_name, &format!("{field}.name"), NAME_FOR_CLUSTER);
        let is_key = reference.values_key.as_ref().is_none_or(|key| SECRET_KEY.fits(key, 253));
        self.check(is_key, &format!("{field}.valuesKey"), SECRET_KEY);
        let is_path = reference.target_path.as_ref().is_none_or(|path| TARGET_PATH.fits(path, 250));
        self.check(is_path, &format!("{field}.targetPath"), TARGET_PATH);
    }

    fn post_renderer(&mut self, PostRenderer { kustomize }: &PostRenderer, field: &str) {
        let (patches, images) = (format!("{field}.patches"), format!("{field}.images"));
        self.check(kustomize.patches.len() <= MAX_PATCHES, &patches, LIMITS);
        for (at, Patch { patch, target }) in kustomize.patches.iter().enumerate() {
            let of = format!("{patches}[{at}]");
            self.length(Some(patch), MAX_PATCH, &format!("{of}.patch"));
            if let Some(target) = target {
                self.target(target, &format!("{of}.target"));
            }
        }
        self.check(kustomize.images.len() <= MAX_PATCHES, &images, LIMITS);
        for (at, Image { name, new_name, new_tag, digest }) in kustomize.images.iter().enumerate() {
            let of = format!("{images}[{at}]");
            self.length(Some(name), 512, &format!("{of}.name"));
            self.length(new_name.as_ref(), 512, &format!("{of}.newName"));
            self.length(new_tag.as_ref(), 128, &format!("{of}.newTag"));
            self.length(digest.as_ref(), 256, &format!("{of}.digest"));
        }
    }

    fn target(&mut self, target: &PatchTarget, field: &str) {
        for (name, text, longest) in [
            ("group", &target.group, 253),
            ("version", &target.version, 253),
            ("kind", &target.kind, 253),
            ("namespace", &target.namespace, 253),
            ("name", &target.name, 253),
            ("annotationSelector", &target.annotation_selector, 1024),
            ("labelSelector", &target.label_selector, 1024),
        ] {
            self.length(text.as_ref(), longest, &format!("{field}.{name}"));
        }
    }

    fn decryption(&mut self, decryption: &Decryption, field: &str) {
        if let Some(secret) = &decryption.secret_ref {
            let is_name = NAME_FOR_CLUSTER.fits(&secret.name, 253);
            self.check(is_name, &format!("{field}.secretRef.name"), NAME_FOR_CLUSTER);
        }
        if let Some(name) = &decryption.service_account_name {
            self.object_name(name, &format!("{field}.serviceAccountName"));
        }
    }

    fn length(&mut self, text: Option<&String>, longest: usize, field: &str) {
        let is_short = text.is_none_or(|text| text.chars().count() <= longest);
        self.check(is_short, field, LIMITS);
    }
}
