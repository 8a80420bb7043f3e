//! What the CRD of `HelmRelease` says about helm-controller.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use serde_json::Value;

/// The name of the CRD.
pub const HELM_RELEASES: &str = "helmreleases.helm.toolkit.fluxcd.io";
/// The field by which a Helm release gets a chart of another name in place, since Flux 2.9: `spec.upgrade.…`.
const FIELD: [&str; 3] = ["spec", "upgrade", "chartNameChangeStrategy"];
/// The label of Flux's version, which `flux install` and `flux bootstrap` set.
pub const VERSION: &str = "app.kubernetes.io/version";
/// The oldest version of Flux that has every field that stackflux writes.
pub const MINIMUM_FLUX: &str = "2.9";

/// What helm-controller does with a Helm release whose chart gets another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renaming {
    /// It upgrades the release in place.
    InPlace,
    /// It uninstalls the release and installs the other chart: it is older than Flux 2.9.
    Uninstall {
        /// Flux's version, if a label of the CRD names it.
        version: Option<String>,
    },
    /// It is not known; this is why.
    Unknown(String),
}

impl Renaming {
    /// Returns what the CRD says, by the schema of the version that stackflux writes.
    #[must_use]
    pub fn of(definition: &CustomResourceDefinition) -> Self {
        let written = super::FluxKind::HelmRelease.api_version().rsplit('/').next();
        let version = definition.spec.versions.iter().find(|version| Some(version.name.as_str()) == written);
        let schema = version.and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
        let labels = definition.metadata.labels.as_ref();
        match schema.and_then(|schema| property(schema, &FIELD)) {
            Some(_) => Self::InPlace,
            None => Self::Uninstall { version: labels.and_then(|labels| labels.get(VERSION).cloned()) },
        }
    }

    /// Removes from a `HelmRelease` the field that its CRD does not have: the API server refuses to apply unknown fields.
    pub fn without_unknown_field(&self, object: &mut Value) {
        if let (Self::Uninstall { .. }, [parents @ .., field]) = (self, &FIELD) {
            let parent = object.pointer_mut(&format!("/{}", parents.join("/")));
            parent.and_then(Value::as_object_mut).and_then(|parent| parent.remove(*field));
        }
    }
}

/// Returns the schema of a field.
fn property<'s>(schema: &'s JSONSchemaProps, path: &[&str]) -> Option<&'s JSONSchemaProps> {
    path.iter().try_fold(schema, |schema, field| schema.properties.as_ref()?.get(*field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A definition whose versions have these fields in `spec.upgrade`.
    fn definition(versions: &[(&str, &[&str])], labels: &Value) -> CustomResourceDefinition {
        let version = |(name, fields): &(&str, &[&str])| {
            let fields: serde_json::Map<_, _> =
                fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
            let upgrade = json!({"type": "object", "properties": fields});
            let spec = json!({"type": "object", "properties": {"upgrade": upgrade}});
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            json!({"name": name, "served": true, "storage": false, "schema": {"openAPIV3Schema": schema}})
        };
        let versions: Vec<Value> = versions.iter().map(version).collect();
        serde_json::from_value(json!({
            "metadata": {"name": HELM_RELEASES, "labels": labels},
            "spec": {
                "group": "helm.toolkit.fluxcd.io", "scope": "Namespaced", "versions": versions,
                "names": {"kind": "HelmRelease", "plural": "helmreleases"},
            },
        }))
        .unwrap()
    }

    #[test]
    fn unknown_field_is_left_out() {
        let object = json!({"spec": {"timeout": "5m", "upgrade": {"chartNameChangeStrategy": "InPlaceUpdate", "crds": "Skip"}}});
        let without = json!({"spec": {"timeout": "5m", "upgrade": {"crds": "Skip"}}});
        let old = Renaming::Uninstall { version: None };
        for (renaming, object, expected) in [
            (&old, &object, &without),
            (&old, &without, &without),
            (&old, &json!({"spec": {}}), &json!({"spec": {}})),
            (&Renaming::InPlace, &object, &object),
            (&Renaming::Unknown("forbidden".to_owned()), &object, &object),
        ] {
            let mut written = object.clone();
            renaming.without_unknown_field(&mut written);
            assert_eq!(written, *expected, "{renaming:?}");
        }
    }

    #[test]
    fn definition_tells_what_helm_controller_does() {
        const OLD: &[&str] = &["timeout"];
        const NEW: &[&str] = &["timeout", "chartNameChangeStrategy"];
        let label = json!({VERSION: "v2.8.3"});
        let of_version = |version: Option<&str>| Renaming::Uninstall { version: version.map(str::to_owned) };
        for (versions, labels, expected) in [
            (&[("v2", NEW)][..], &label, Renaming::InPlace),
            (&[("v2", OLD)], &label, of_version(Some("v2.8.3"))),
            (&[("v2", OLD)], &json!({}), of_version(None)),
            // The operator writes v2: another version's fields do not count.
            (&[("v2beta2", NEW), ("v2", OLD)], &label, of_version(Some("v2.8.3"))),
            (&[("v2", NEW), ("v2beta2", OLD)], &label, Renaming::InPlace),
            (&[("v3", NEW)], &label, of_version(Some("v2.8.3"))),
        ] {
            assert_eq!(Renaming::of(&definition(versions, labels)), expected, "{versions:?} {labels}");
        }
    }
}
