//! Parses the names of objects on the command line: `clusterstack demo`, `csk/demo`, `one/cni`, `demo/one`.

use crate::api::ClusterAddon;
use crate::cli::error::CliError;

use super::Named;

/// A kind and a name, as `clusterstack demo` or `clusterstack/demo`.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct ObjectArguments {
    /// Object: a clusterstack (csk, cs), release (cskr) or cluster (caddon), as csk/demo
    ///
    /// Kind and name can also be two arguments, as csk demo.
    #[arg(value_name = "KIND/NAME", num_args = 1..=2, required = true)]
    object: Vec<String>,
}

/// Optional [`ObjectArguments`].
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct OptionalObject {
    /// Show only this clusterstack (csk, cs), release (cskr) or cluster (caddon), as csk/demo
    ///
    /// Kind and name can also be two arguments, as csk demo.
    #[arg(value_name = "KIND/NAME", num_args = 1..=2)]
    object: Vec<String>,
}

impl ObjectArguments {
    pub(in crate::cli) fn named(&self) -> Result<(Named, String), CliError> {
        named(&self.object)
    }
}

impl OptionalObject {
    pub(in crate::cli) fn named(&self) -> Result<Option<(Named, String)>, CliError> {
        if self.object.is_empty() { Ok(None) } else { named(&self.object).map(Some) }
    }
}

fn named(words: &[String]) -> Result<(Named, String), CliError> {
    let (kind, name) = match words {
        [kind, name] => (kind.as_str(), name.as_str()),
        [both] => both.split_once('/').unwrap_or((both, "")),
        _ => ("", ""),
    };
    let Some(found) = kind_of(kind) else {
        return Err(CliError::usage(format!("unknown kind {kind:?}"))
            .hint("kinds are clusterstack (csk, cs), release (cskr) and cluster (caddon)"));
    };
    if name.is_empty() || name.contains('/') {
        let hint = format!("name one object, as {kind}/NAME, and its namespace with --namespace");
        return Err(
            CliError::usage(format!("invalid name {:?}: expected KIND/NAME", words.join(" "))).hint(hint)
        );
    }
    Ok((found, of_kind(kind, name).to_owned()))
}

/// Returns the object that a text names as `KIND/NAME`, if it does.
pub(in crate::cli) fn object(text: &str) -> Option<(Named, String)> {
    named(&[text.to_owned()]).ok()
}

/// Returns the kind of a word, in any case, in the singular or the plural, abbreviated, or with its group as
/// `kubectl -o name` prints it.
fn kind_of(word: &str) -> Option<Named> {
    let word = word.to_lowercase();
    match word.split('.').next().unwrap_or_default() {
        "clusterstack" | "clusterstacks" | "csk" | "cs" | "stack" => Some(Named::Clusterstack),
        "clusterstackrelease" | "clusterstackreleases" | "cskr" | "release" | "releases" => {
            Some(Named::Release)
        }
        "cluster" | "clusters" | "clusteraddon" | "clusteraddons" | "caddon" => Some(Named::Cluster),
        _ => None,
    }
}

/// Returns the name of the Cluster if a `ClusterAddon` is named, otherwise the name.
fn of_kind<'a>(kind: &str, name: &'a str) -> &'a str {
    let is_addon = kind.to_lowercase().starts_with("clusteraddon") || kind.eq_ignore_ascii_case("caddon");
    let prefix = ClusterAddon::name_for("");
    name.strip_prefix(&prefix).filter(|_| is_addon).unwrap_or(name)
}

/// A Cluster, or one of its addons, that a text may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Candidate {
    pub(in crate::cli) namespace: String,
    pub(in crate::cli) cluster: String,
    pub(in crate::cli) addon: Option<String>,
}

/// Returns all objects that a text may refer to; the first existing one is meant. The forms are `CLUSTER`,
/// `cluster/CLUSTER` and, as in output, `NAMESPACE/CLUSTER`, each optionally followed by `/ADDON`. Another namespace
/// than `namespace` is possible only if `anywhere`.
pub(in crate::cli) fn candidates(text: &str, namespace: &str, anywhere: bool) -> Vec<Candidate> {
    let parts: Vec<&str> = text.split('/').collect();
    let one = |namespace: &str, cluster: &str, addon: Option<&&str>| Candidate {
        namespace: namespace.to_owned(),
        cluster: cluster.to_owned(),
        addon: addon.map(ToString::to_string),
    };
    let is_cluster = |word: &str| kind_of(word) == Some(Named::Cluster);
    let mut found = Vec::new();
    match parts.as_slice() {
        [cluster] => found.push(one(namespace, cluster, None)),
        [first, second] => {
            found.push(one(namespace, first, Some(second)));
            if is_cluster(first) {
                found.push(one(namespace, of_kind(first, second), None));
            }
            found.push(one(first, second, None));
        }
        [first, cluster, addon] => {
            if is_cluster(first) {
                found.push(one(namespace, of_kind(first, cluster), Some(addon)));
            }
            found.push(one(first, cluster, Some(addon)));
        }
        _ => {}
    }
    found.retain(|candidate| anywhere || candidate.namespace == namespace);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_short_names() {
        for (text, expected) in [
            ("clusterstack demo", (Named::Clusterstack, "demo")),
            ("ClusterStack/demo", (Named::Clusterstack, "demo")),
            ("clusterstack.clusterstack.x-k8s.io/demo", (Named::Clusterstack, "demo")),
            ("cs/demo", (Named::Clusterstack, "demo")),
            ("csk/demo", (Named::Clusterstack, "demo")),
            ("cskr/a-b-1-34-v1", (Named::Release, "a-b-1-34-v1")),
            ("cluster one", (Named::Cluster, "one")),
            ("caddon/cluster-addon-one", (Named::Cluster, "one")),
            ("cluster/cluster-addon-one", (Named::Cluster, "cluster-addon-one")),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let (kind, name) = named(&words).unwrap();
            assert_eq!((kind, name.as_str()), expected, "{text}");
        }
        for text in ["pod/one", "csk", "csk/", "csk/a/b", "csk a/b"] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert!(named(&words).is_err(), "{text}");
        }
    }

    #[test]
    fn printed_subject_is_accepted() {
        let parsed = |text: &str, anywhere| {
            let found = candidates(text, "default", anywhere).into_iter().map(|found| {
                let Candidate { namespace, cluster, addon } = found;
                format!("{namespace}/{cluster}{}", addon.map(|addon| format!(" {addon}")).unwrap_or_default())
            });
            found.collect::<Vec<_>>().join(", ")
        };
        for (text, anywhere, expected) in [
            ("one", true, "default/one"),
            ("one/cni", true, "default/one cni, one/cni"),
            ("demo/one", true, "default/demo one, demo/one"),
            ("demo/one", false, "default/demo one"),
            ("default/one", false, "default/default one, default/one"),
            ("cluster/one", true, "default/cluster one, default/one, cluster/one"),
            ("caddon/cluster-addon-one", false, "default/caddon cluster-addon-one, default/one"),
            ("demo/one/cni", true, "demo/one cni"),
            ("demo/one/cni", false, ""),
            ("cluster/one/cni", false, "default/one cni"),
            ("a/b/c/d", true, ""),
        ] {
            assert_eq!(parsed(text, anywhere), expected, "{text}");
        }
    }
}
