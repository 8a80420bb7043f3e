//! The version of a control plane or infrastructure object that Cluster API's contract names.
//!
//! References of a Cluster name no version. Each provider labels its CRDs with the contracts that they fulfil:
//! `cluster.x-k8s.io/<contract>` = the versions that fulfil it, joined by `_`
//! (<https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview.html#api-version-labels>). A Cluster API
//! whose own version is `v1beta2` takes that contract, otherwise `v1beta1` (`internal/contract/version.go`). Cluster API
//! takes the latest version of the label. Stack authors wrote against the earlier one, so stackflux takes the lowest
//! served one.

use std::collections::BTreeMap;

use kube::core::Version;

use super::GROUP;

/// Lists the contracts that a Cluster API of this version accepts, in order of preference.
fn contracts(cluster_api: &str) -> impl Iterator<Item = &str> {
    let older = (cluster_api == "v1beta2").then_some("v1beta1");
    [cluster_api].into_iter().chain(older)
}

/// Chooses the version to read a kind in: the lowest served one of the first contract that its CRD's labels name.
/// `None` if no label names a served version.
#[must_use]
pub fn version<'a>(
    labels: &'a BTreeMap<String, String>,
    served: &[&str],
    cluster_api: &str,
) -> Option<&'a str> {
    contracts(cluster_api).find_map(|contract| {
        let named = labels.get(&format!("{GROUP}/{contract}"))?.split('_');
        named
            .filter(|version| served.contains(version))
            .min_by_key(|version| Version::parse(version).priority())
    })
}

/// Returns the message about a CRD without such a label.
#[must_use]
pub fn without_label(kind: &str, group: &str, cluster_api: &str, version: &str) -> String {
    let labels: Vec<String> = contracts(cluster_api).map(|contract| format!("{GROUP}/{contract}")).collect();
    format!(
        "the CRD of {kind} ({group}) has no label {} that names a served version: its objects are read in {version}, which \
         the API server prefers",
        labels.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_names_the_lowest_served_version() {
        let read = |labels: &[(&str, &str)], served: &[&str], cluster_api| {
            let label =
                |(contract, versions): &(&str, &str)| (format!("{GROUP}/{contract}"), (*versions).to_owned());
            version(&labels.iter().map(label).collect(), served, cluster_api).map(str::to_owned)
        };
        let all = ["v1beta2", "v1beta1", "v1alpha7"];
        for (labels, cluster_api, expected) in [
            (&[("v1beta1", "v1beta1"), ("v1beta2", "v1beta2")][..], "v1beta2", Some("v1beta2")),
            (&[("v1beta1", "v1beta1"), ("v1beta2", "v1beta2")], "v1beta1", Some("v1beta1")),
            (&[("v1beta1", "v1beta1")], "v1beta2", Some("v1beta1")),
            (&[("v1beta2", "v1beta2")], "v1beta1", None),
            (&[("v1beta1", "v1alpha7_v1beta1_v1beta2")], "v1beta1", Some("v1alpha7")),
            (&[("v1beta1", "v1alpha6_v1beta1_v1beta2")], "v1beta1", Some("v1beta1")),
            (&[("v1beta1", "v1alpha6")], "v1beta1", None),
            (&[("v1beta2", ""), ("v1beta1", "v1beta1")], "v1beta2", Some("v1beta1")),
            (&[], "v1beta2", None),
        ] {
            assert_eq!(read(labels, &all, cluster_api).as_deref(), expected, "{labels:?} {cluster_api}");
        }
    }
}
