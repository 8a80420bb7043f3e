//! The content of one release, for people and for programs.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::images;
use crate::cli::output::{NOTHING, properties, table};
use crate::names::ReleaseName;
use crate::release::{Addon, Chart, Component, Dependency, Form, Hook, Limits, Loaded, Release, Stage};

/// The content of a release.
pub(super) struct Contents {
    release: Release,
    /// The images that the text of each addon's values and manifests names: a hint, not a complete list.
    images: Vec<Vec<String>>,
    node_images: Vec<String>,
    warnings: usize,
    unreadable: Vec<String>,
}

impl Serialize for Contents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl Contents {
    /// Collects the content of a release.
    pub(super) fn of(loaded: Loaded, limits: &Limits) -> Self {
        let Loaded { release, files, warnings } = loaded;
        let found = release.addons.iter().map(|addon| images::of_addon(addon, &files, limits));
        let (images, unreadable): (_, Vec<_>) = found.map(|found| (found.names, found.unreadable)).unzip();
        Self {
            images,
            node_images: images::of_nodes(&files),
            warnings: warnings.len(),
            unreadable: unreadable.into_iter().flatten().collect(),
            release,
        }
    }

    /// The release's name.
    pub(super) fn name(&self) -> &ReleaseName {
        &self.release.name
    }

    /// The number of warnings that `lint` reports.
    pub(super) fn warnings(&self) -> usize {
        self.warnings
    }

    /// The values in which no image could be searched for, each with the error.
    pub(super) fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Returns the content for programs.
    fn to_json(&self) -> Value {
        let release = &self.release;
        let node_images = release.node_images.as_ref();
        let addons = release.addons.iter().zip(&self.images);
        json!({
            "name": release.name.to_string(),
            "className": release.name.class_name(),
            "form": form(release),
            "packed": release.packed,
            "kubernetesVersion": release.kubernetes.to_string(),
            "channel": release.name.version().channel(),
            "digest": release.digest.to_string(),
            "components": {
                "clusterAddon": release.parts.cluster_addon,
                "nodeImage": release.parts.node_image,
            },
            "clusterClass": chart_json(&release.cluster_class),
            "addons": addons.map(|(addon, images)| addon_json(addon, images)).collect::<Value>(),
            "stages": self.stages().map(|(hook, stage)| stage_json(hook, stage)).collect::<Value>(),
            // The path and the digest are null if the release has no manifests of node images.
            "nodeImages": {
                "path": node_images.map(|images| &images.path),
                "digest": node_images.map(|images| images.digest.to_string()),
                "images": self.node_images,
            },
            "warnings": self.warnings,
        })
    }

    /// Formats the content for people: first the single properties, then a table for each list.
    pub(super) fn describe(&self) -> String {
        let release = &self.release;
        let class = &release.cluster_class;
        let packed = if release.packed { ", packed" } else { "" };
        let mut lines = vec![
            ("Name", release.name.to_string()),
            ("Form", format!("{}{packed}", form(release))),
            ("Kubernetes", release.kubernetes.to_string()),
            ("Channel", release.name.version().channel().to_owned()),
            ("Digest", release.digest.to_string()),
            ("Class", release.name.class_name()),
            ("Class chart", format!("{} {} ({})", class.name, class.version, class.digest.short())),
        ];
        if let Some(images) = &release.node_images {
            lines.push(("Node images", format!("{}/ ({})", images.path, images.digest.short())));
        }
        let mut text = properties(&lines);
        let tables = [
            self.addon_table(),
            self.component_table(),
            self.stage_table(),
            self.field_table(),
            self.image_table(),
        ];
        for table in tables.iter().flatten() {
            let _ = write!(text, "\n{table}");
        }
        text
    }

    fn addon_table(&self) -> Option<String> {
        let header = ["ADDON", "KIND", "CHART", "VERSION", "APP VERSION", "DEPENDENCIES", "DIGEST"];
        let or_nothing =
            |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or(NOTHING.into());
        let rows = self.release.addons.iter().map(|addon| {
            let chart = addon.chart();
            let dependencies =
                chart.map(|chart| chart.dependencies.iter().map(described).collect::<Vec<_>>().join(", "));
            [
                addon.name.to_string(),
                if addon.is_chart() { "chart" } else { "manifests" }.to_owned(),
                or_nothing(chart.map(|chart| chart.name.clone())),
                or_nothing(chart.map(|chart| chart.version.clone())),
                or_nothing(chart.and_then(|chart| chart.app_version.clone())),
                or_nothing(dependencies),
                addon.digest.short(),
            ]
        });
        (!self.release.addons.is_empty()).then(|| table(header, rows))
    }

    fn component_table(&self) -> Option<String> {
        let components = self.release.addons.iter().filter_map(|addon| Some((addon, addon.component()?)));
        let rows = components.map(|(addon, component)| {
            let source = &component.source;
            [
                addon.name.to_string(),
                component.repository.clone(),
                source.url().to_owned(),
                source.exact().unwrap_or(NOTHING).to_owned(),
                component.path.clone(),
            ]
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then(|| table(["COMPONENT", "REPOSITORY", "URL", "REFERENCE", "PATH"], rows))
    }

    fn stage_table(&self) -> Option<String> {
        let rows = self.stages().map(|(hook, stage)| {
            [hook.as_str().to_owned(), stage.addon.to_string(), stage.action.as_str().to_owned()]
        });
        self.stages().next().map(|_| table(["HOOK", "ADDON", "ACTION"], rows))
    }

    fn field_table(&self) -> Option<String> {
        let mut rows = Vec::new();
        for addon in &self.release.addons {
            let Some(template) = &addon.template else { continue };
            for field in template.template.fields() {
                rows.push([addon.name.to_string(), template.file.clone(), field.to_string()]);
            }
        }
        (!rows.is_empty()).then(|| table(["ADDON", "VALUES TEMPLATE", "READS"], rows))
    }

    fn image_table(&self) -> Option<String> {
        let nodes = self.node_images.iter().map(|image| ["(nodes)".to_owned(), image.clone()]);
        let of_addon = |(addon, images): (&'_ Addon, &'_ Vec<String>)| {
            let name = addon.name.to_string();
            images.clone().into_iter().map(move |image| [name.clone(), image])
        };
        let addons = self.release.addons.iter().zip(&self.images);
        let rows: Vec<_> = addons.flat_map(of_addon).chain(nodes).collect();
        (!rows.is_empty()).then(|| table(["ADDON", "IMAGE NAMED BY DEFAULT"], rows))
    }

    /// Iterates over the stages of all hooks.
    fn stages(&self) -> impl Iterator<Item = (Hook, &Stage)> {
        let stages = self.release.stages.iter();
        stages.flat_map(|(hook, stages)| stages.iter().map(move |stage| (*hook, stage)))
    }
}

fn form(release: &Release) -> &'static str {
    match release.form {
        Form::SingleChart => "single-chart",
        Form::MultiStage => "multi-stage",
    }
}

fn described(dependency: &Dependency) -> String {
    match &dependency.vendored {
        Some(version) => format!("{} {version} (vendored)", dependency.name),
        None => format!("{} {} (fetched)", dependency.name, dependency.version),
    }
}

fn stage_json(hook: Hook, stage: &Stage) -> Value {
    json!({
        "hook": hook.as_str(),
        "addon": stage.addon.to_string(),
        "action": stage.action.as_str(),
    })
}

fn chart_json(chart: &Chart) -> Value {
    let dependencies = chart.dependencies.iter().map(|dependency| {
        json!({
            "name": dependency.name,
            "alias": dependency.alias,
            "version": dependency.version,
            "repository": dependency.repository,
            // Null if Flux has to fetch it.
            "vendored": dependency.vendored,
        })
    });
    json!({
        "path": chart.path,
        "name": chart.name,
        "version": chart.version,
        "appVersion": chart.app_version,
        "description": chart.description,
        "digest": chart.digest.to_string(),
        "dependencies": dependencies.collect::<Value>(),
    })
}

fn component_json(component: &Component) -> Value {
    json!({
        "repository": component.repository,
        "url": component.source.url(),
        "reference": component.source.exact(),
        "form": component.form.as_str(),
        "path": component.path,
    })
}

fn addon_json(addon: &Addon, images: &[String]) -> Value {
    let template = addon.template.as_ref().map(|template| {
        let fields = template.template.fields().iter().map(ToString::to_string);
        json!({"file": template.file, "fields": fields.collect::<Vec<_>>()})
    });
    json!({
        "name": addon.name.to_string(),
        "path": addon.path,
        "digest": addon.digest.to_string(),
        // Null for plain manifests, and for a component.
        "chart": addon.chart().map(chart_json),
        // Null for an addon whose files are in the release.
        "component": addon.component().map(component_json),
        "valuesTemplate": template,
        "images": images,
    })
}
