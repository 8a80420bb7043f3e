//! The content of one release, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::images;
use crate::cli::output::{NOTHING, properties, table};
use crate::release::{Addon, Chart, Dependency, Digest, Form, Hook, Limits, Loaded, Release, Stage, Wait};

/// The content of a release.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents {
    name: String,
    class_name: String,
    form: &'static str,
    packed: bool,
    kubernetes_version: String,
    channel: String,
    digest: String,
    components: Components,
    cluster_class: ChartContents,
    addons: Vec<AddonContents>,
    stages: Vec<StageContents>,
    node_images: NodeImages,
    warnings: usize,
    /// The values in which no image could be searched for, each with the error.
    #[serde(skip)]
    unreadable: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Components {
    cluster_addon: Option<String>,
    node_image: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChartContents {
    path: String,
    name: String,
    version: String,
    app_version: Option<String>,
    description: Option<String>,
    digest: String,
    dependencies: Vec<DependencyContents>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DependencyContents {
    name: String,
    alias: Option<String>,
    version: String,
    repository: Option<String>,
    /// The version that the chart vendors; null if Flux has to fetch it.
    vendored: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AddonContents {
    name: String,
    path: String,
    digest: String,
    /// Null for plain manifests.
    chart: Option<ChartContents>,
    values_template: Option<TemplateContents>,
    /// The images that the text of values and manifests names: a hint, not a complete list.
    images: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TemplateContents {
    file: String,
    fields: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StageContents {
    hook: &'static str,
    addon: String,
    action: &'static str,
    wait_before: Option<WaitContents>,
    wait_after: Option<WaitContents>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitContents {
    objects: Vec<WaitObjectContents>,
    expression: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeImages {
    /// Null if the release has no manifests of node images.
    path: Option<String>,
    digest: Option<String>,
    images: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WaitObjectContents {
    key: String,
    api_version: String,
    kind: String,
    name: String,
    namespace: Option<String>,
}

impl Contents {
    /// Collects the content of a release.
    pub(super) fn of(loaded: &Loaded, limits: &Limits) -> Self {
        let Loaded { release, files, warnings } = loaded;
        let mut unreadable = Vec::new();
        let mut addon = |addon: &Addon| {
            let images = images::of_addon(addon, files, limits);
            unreadable.extend(images.unreadable);
            AddonContents::of(addon, images.names)
        };
        Self {
            name: release.name.to_string(),
            class_name: release.name.class_name(),
            form: match release.form {
                Form::SingleChart => "single-chart",
                Form::MultiStage => "multi-stage",
            },
            packed: release.packed,
            kubernetes_version: release.kubernetes.to_string(),
            channel: release.name.version().channel().to_owned(),
            digest: release.digest.to_string(),
            components: Components {
                cluster_addon: release.components.cluster_addon.clone(),
                node_image: release.components.node_image.clone(),
            },
            cluster_class: ChartContents::of(&release.cluster_class),
            addons: release.addons.iter().map(&mut addon).collect(),
            stages: stages(release),
            node_images: NodeImages {
                path: release.node_images.as_ref().map(|images| images.path.clone()),
                digest: release.node_images.as_ref().map(|images| images.digest.to_string()),
                images: images::of_nodes(files),
            },
            warnings: warnings.len(),
            unreadable,
        }
    }

    /// The release's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of warnings that `lint` reports.
    pub(super) fn warnings(&self) -> usize {
        self.warnings
    }

    /// The values in which no image could be searched for, each with the error.
    pub(super) fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// Formats the content for people: first the single properties, then a table for each list.
    pub(super) fn describe(&self) -> String {
        let class = &self.cluster_class;
        let packed = if self.packed { ", packed" } else { "" };
        let mut lines = vec![
            ("Name", self.name.clone()),
            ("Form", format!("{}{packed}", self.form)),
            ("Kubernetes", self.kubernetes_version.clone()),
            ("Channel", self.channel.clone()),
            ("Digest", self.digest.clone()),
            ("Class", self.class_name.clone()),
            ("Class chart", format!("{} {} ({})", class.name, class.version, short(&class.digest))),
        ];
        if let (Some(path), Some(digest)) = (&self.node_images.path, &self.node_images.digest) {
            lines.push(("Node images", format!("{path}/ ({})", short(digest))));
        }
        let mut text = properties(&lines);
        let tables = [self.addon_table(), self.stage_table(), self.field_table(), self.image_table()];
        for table in tables.iter().flatten() {
            let _ = write!(text, "\n{table}");
        }
        text
    }

    fn addon_table(&self) -> Option<String> {
        let header = ["ADDON", "KIND", "CHART", "VERSION", "APP VERSION", "DEPENDENCIES", "DIGEST"];
        let or_nothing =
            |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or(NOTHING.into());
        let rows = self.addons.iter().map(|addon| {
            let chart = addon.chart.as_ref();
            let dependencies = chart.map(|chart| {
                chart.dependencies.iter().map(DependencyContents::describe).collect::<Vec<_>>().join(", ")
            });
            [
                addon.name.clone(),
                if chart.is_some() { "chart" } else { "manifests" }.to_owned(),
                or_nothing(chart.map(|chart| chart.name.clone())),
                or_nothing(chart.map(|chart| chart.version.clone())),
                or_nothing(chart.and_then(|chart| chart.app_version.clone())),
                or_nothing(dependencies),
                short(&addon.digest),
            ]
        });
        (!self.addons.is_empty()).then(|| table(header, rows))
    }

    fn stage_table(&self) -> Option<String> {
        let wait = |wait: &Option<WaitContents>| match wait {
            Some(wait) => wait.expression.trim().to_owned(),
            None => NOTHING.to_owned(),
        };
        let rows = self.stages.iter().map(|stage| {
            [
                stage.hook.to_owned(),
                stage.addon.clone(),
                stage.action.to_owned(),
                wait(&stage.wait_before),
                wait(&stage.wait_after),
            ]
        });
        let header = ["HOOK", "ADDON", "ACTION", "WAITS BEFORE FOR", "WAITS AFTER FOR"];
        (!self.stages.is_empty()).then(|| table(header, rows))
    }

    fn field_table(&self) -> Option<String> {
        let mut rows = Vec::new();
        for addon in &self.addons {
            let Some(template) = &addon.values_template else { continue };
            for field in &template.fields {
                rows.push([addon.name.clone(), template.file.clone(), field.clone()]);
            }
        }
        (!rows.is_empty()).then(|| table(["ADDON", "VALUES TEMPLATE", "READS"], rows))
    }

    fn image_table(&self) -> Option<String> {
        let nodes = self.node_images.images.iter().map(|image| ["(nodes)".to_owned(), image.clone()]);
        let of_addon = |addon: &'_ AddonContents| {
            let name = addon.name.clone();
            addon.images.clone().into_iter().map(move |image| [name.clone(), image])
        };
        let rows: Vec<_> = self.addons.iter().flat_map(of_addon).chain(nodes).collect();
        (!rows.is_empty()).then(|| table(["ADDON", "IMAGE NAMED BY DEFAULT"], rows))
    }
}

/// Returns the first 12 hex digits of a digest, as in the name of a chart's object.
fn short(digest: &str) -> String {
    digest.parse::<Digest>().map_or_else(|_| digest.to_owned(), |digest| digest.short())
}

fn stages(release: &Release) -> Vec<StageContents> {
    let of = |hook: Hook| release.stages.get(&hook).into_iter().flatten().map(move |stage| (hook, stage));
    Hook::ALL.into_iter().flat_map(of).map(|(hook, stage)| StageContents::of(hook, stage)).collect()
}

impl StageContents {
    fn of(hook: Hook, stage: &Stage) -> Self {
        Self {
            hook: hook.as_str(),
            addon: stage.addon.to_string(),
            action: stage.action.as_str(),
            wait_before: stage.wait_before.as_ref().map(WaitContents::of),
            wait_after: stage.wait_after.as_ref().map(WaitContents::of),
        }
    }
}

impl WaitContents {
    fn of(wait: &Wait) -> Self {
        let objects = wait.objects.iter().map(|object| WaitObjectContents {
            key: object.key.clone(),
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            name: object.name.clone(),
            namespace: object.namespace.clone(),
        });
        Self { objects: objects.collect(), expression: wait.expression.clone() }
    }
}

impl ChartContents {
    fn of(chart: &Chart) -> Self {
        Self {
            path: chart.path.clone(),
            name: chart.name.clone(),
            version: chart.version.clone(),
            app_version: chart.app_version.clone(),
            description: chart.description.clone(),
            digest: chart.digest.to_string(),
            dependencies: chart.dependencies.iter().map(DependencyContents::of).collect(),
        }
    }
}

impl DependencyContents {
    fn of(dependency: &Dependency) -> Self {
        Self {
            name: dependency.name.clone(),
            alias: dependency.alias.clone(),
            version: dependency.version.clone(),
            repository: dependency.repository.clone(),
            vendored: dependency.vendored.clone(),
        }
    }

    fn describe(&self) -> String {
        match &self.vendored {
            Some(version) => format!("{} {version} (vendored)", self.name),
            None => format!("{} {} (fetched)", self.name, self.version),
        }
    }
}

impl AddonContents {
    fn of(addon: &Addon, images: Vec<String>) -> Self {
        Self {
            name: addon.name.to_string(),
            path: addon.path.clone(),
            digest: addon.digest.to_string(),
            chart: addon.chart().map(ChartContents::of),
            values_template: addon.template.as_ref().map(|template| TemplateContents {
                file: template.file.clone(),
                fields: template.template.fields().iter().map(ToString::to_string).collect(),
            }),
            images,
        }
    }
}
