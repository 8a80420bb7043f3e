//! The custom resource definitions, generated from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
    JSONSchemaPropsOrBool,
};
use kube::{CustomResourceExt as _, Resource as _};

use super::{ClusterAddon, ClusterAddonOverride, ClusterStack, ClusterStackRelease};

/// Creates the custom resource definitions of all our kinds, in the order of their names.
#[must_use]
pub fn custom_resource_definitions() -> Vec<CustomResourceDefinition> {
    let all =
        [ClusterAddonOverride::crd(), ClusterAddon::crd(), ClusterStackRelease::crd(), ClusterStack::crd()];
    all.map(finished).into()
}

/// Adds the columns that all kinds have to a definition, and adapts its derived schema to Kubernetes.
fn finished(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    let columns = columns(definition.spec.names.kind == ClusterStack::kind(&()));
    for version in &mut definition.spec.versions {
        version.additional_printer_columns.get_or_insert_default().extend(columns.clone());
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            finish(schema);
        }
    }
    definition
}

/// Lists the last columns of `kubectl get`: age, the words of `Ready`, and for a `ClusterStack` also `ClustersReady`.
fn columns(has_clusters: bool) -> Vec<CustomResourceColumnDefinition> {
    let column = |name: &str, type_: &str, json_path: &str| CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    };
    let clusters = column("ClustersReady", "string", ".status.conditions[?(@.type=='ClustersReady')].status");
    let mut columns = vec![
        column("Age", "date", ".metadata.creationTimestamp"),
        column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
    ];
    columns.extend(has_clusters.then_some(clusters));
    columns.push(column("Reason", "string", ".status.conditions[?(@.type=='Ready')].reason"));
    columns.push(column("Message", "string", ".status.conditions[?(@.type=='Ready')].message"));
    columns
}

fn finish(schema: &mut JSONSchemaProps) {
    // An optional field is absent, never null: then the API server drops a null, as for every built-in kind, and a
    // rule's `has()` is exact.
    schema.nullable = None;
    // Kubernetes knows int32 and int64 only and warns of others.
    if schema.format.as_deref().is_some_and(|format| format.starts_with("uint")) {
        schema.format = Some("int32".to_owned());
        schema.minimum = None;
    }
    schema.description = schema.description.take().map(|text| unwrapped(&text));
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        finish(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        finish(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        finish(values);
    }
}

/// Removes the line breaks from a docstring that only the width of the source file required.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
