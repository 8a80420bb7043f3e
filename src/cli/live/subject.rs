//! Parses the names of objects on the command line, with the same rules for every command.
//!
//! `docs/reference/command-line.md` has the rules: `KIND/NAME`, `KIND NAME…`, `NAMESPACE/NAME`, `NAME`.

use crate::api::ClusterAddon;
use crate::cli::error::CliError;
use crate::explain::Named;
use crate::explain::snapshot::Snapshot;

/// The kinds and their short names, for messages.
pub(in crate::cli) const KINDS: &str =
    "kinds are clusterstack (csk, cs), release (cskr, csr) and cluster (cl, caddon)";

/// The order in which an object without a kind is looked up.
const ORDER: [Named; 3] = [Named::Cluster, Named::Clusterstack, Named::Release];

/// The objects to show; all if none is named.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct OptionalObjects {
    /// Show only these: csk/demo, csr/NAME, cl/one, or NAMESPACE/NAME; also as KIND NAME…
    ///
    /// Kinds are clusterstack (csk, cs), release (cskr, csr) and cluster (cl, caddon). Without a kind, a Cluster is meant, otherwise
    /// a ClusterStack, otherwise a release.
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
}

/// One Cluster.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct ClusterArgument {
    /// Cluster: NAME, NAMESPACE/NAME, cluster/NAME, or cluster NAME
    #[arg(value_name = "CLUSTER", num_args = 1..=2, required = true)]
    cluster: Vec<String>,
}

/// One `ClusterStack`.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct ClusterStackArgument {
    /// ClusterStack: NAME, NAMESPACE/NAME, csk/NAME, or csk NAME
    #[arg(value_name = "CLUSTERSTACK", num_args = 1..=2, required = true)]
    #[allow(clippy::doc_markdown, reason = "it is the text of --help, which knows no Markdown")]
    stack: Vec<String>,
}

/// An object that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Subject {
    /// Its kind; `None` if only a name is given.
    pub(in crate::cli) kind: Option<Named>,
    /// Its namespace, if the name has one.
    pub(in crate::cli) namespace: Option<String>,
    /// Its name.
    pub(in crate::cli) name: String,
}

impl OptionalObjects {
    pub(in crate::cli) fn subjects(&self) -> Result<Vec<Subject>, CliError> {
        subjects(&self.objects)
    }
}

impl ClusterArgument {
    pub(in crate::cli) fn subject(&self) -> Result<Subject, CliError> {
        only(&self.cluster, Named::Cluster, "cluster")
    }
}

impl ClusterStackArgument {
    pub(in crate::cli) fn subject(&self) -> Result<Subject, CliError> {
        only(&self.stack, Named::Clusterstack, "csk")
    }
}

/// Parses the name of one object of a kind, which a name without a kind has, too.
fn only(words: &[String], kind: Named, short: &str) -> Result<Subject, CliError> {
    match <[Subject; 1]>::try_from(subjects(words)?) {
        Ok([subject]) if subject.kind.is_none_or(|named| named == kind) => Ok(subject),
        _ => {
            let message = format!("invalid name {:?}: expected one {kind}", words.join(" "));
            Err(CliError::usage(message).hint(format!("name it as NAME, NAMESPACE/NAME or {short}/NAME")))
        }
    }
}

impl Subject {
    /// Returns the kind of the object; without one, a Cluster is meant.
    pub(in crate::cli) fn named(&self) -> Named {
        self.kind.unwrap_or(Named::Cluster)
    }

    /// Returns the kind of the object in a snapshot. Without a kind, that of the first object with the name; a Cluster if there is
    /// none.
    pub(in crate::cli) fn found_in(&self, snapshot: &Snapshot) -> Named {
        let found = || ORDER.into_iter().find(|kind| snapshot.has_named(*kind, &self.name));
        self.kind.or_else(found).unwrap_or(Named::Cluster)
    }

    fn new(kind: Option<Named>, namespace: Option<&str>, name: &str) -> Self {
        Self { kind, namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    /// Parses the name of an object, as `NAME` or `NAMESPACE/NAME`, after a word for its kind.
    fn of_kind(word: &str, kind: Named, name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split('/').collect();
        match parts.as_slice() {
            [name] if !name.is_empty() => Some(Self::new(Some(kind), None, of_kind(word, name))),
            [namespace, name]
                if kind_of(namespace).is_none() && !namespace.is_empty() && !name.is_empty() =>
            {
                Some(Self::new(Some(kind), Some(namespace), of_kind(word, name)))
            }
            _ => None,
        }
    }

    /// Parses one word: `NAME`, `KIND/NAME`, `KIND/NAMESPACE/NAME` or `NAMESPACE/NAME`.
    fn parse(word: &str) -> Option<Self> {
        match word.split_once('/') {
            None => (!word.is_empty() && kind_of(word).is_none()).then(|| Self::new(None, None, word)),
            Some((first, rest)) => match kind_of(first) {
                Some(kind) => Self::of_kind(first, kind, rest),
                None => (!first.is_empty() && !rest.is_empty() && !rest.contains('/'))
                    .then(|| Self::new(None, Some(first), rest)),
            },
        }
    }
}

/// Parses the names of objects: a kind and names, or a name in each word.
pub(in crate::cli) fn subjects(words: &[String]) -> Result<Vec<Subject>, CliError> {
    let invalid = |word: &str| {
        let message = format!("invalid name {word:?}: expected KIND/NAME, NAMESPACE/NAME or NAME");
        CliError::usage(message).hint(KINDS)
    };
    match words {
        [word, names @ ..] if !names.is_empty() && kind_of(word).is_some() => {
            let parse = |name: &String| {
                let subject = kind_of(word).and_then(|kind| Subject::of_kind(word, kind, name));
                subject.ok_or_else(|| invalid(&format!("{word} {name}")))
            };
            names.iter().map(parse).collect()
        }
        _ => words.iter().map(|word| Subject::parse(word).ok_or_else(|| invalid(word))).collect(),
    }
}

/// Returns the kind of a word, in any case, in the singular or the plural, abbreviated, or with its group as
/// `kubectl -o name` prints it.
pub(in crate::cli) fn kind_of(word: &str) -> Option<Named> {
    if word.contains('/') {
        return None;
    }
    let word = word.to_lowercase();
    match word.split('.').next().unwrap_or_default() {
        "clusterstack" | "clusterstacks" | "csk" | "cs" | "stack" => Some(Named::Clusterstack),
        "clusterstackrelease" | "clusterstackreleases" | "cskr" | "csr" | "release" | "releases" => {
            Some(Named::Release)
        }
        "cluster" | "clusters" | "cl" | "clusteraddon" | "clusteraddons" | "caddon" => Some(Named::Cluster),
        _ => None,
    }
}

/// Returns the name of the Cluster if a `ClusterAddon` is named, otherwise the name.
fn of_kind<'a>(kind: &str, name: &'a str) -> &'a str {
    let is_addon = kind.to_lowercase().starts_with("clusteraddon") || kind.eq_ignore_ascii_case("caddon");
    let prefix = ClusterAddon::name_for("");
    name.strip_prefix(&prefix).filter(|_| is_addon).unwrap_or(name)
}

/// An object, or an addon of a Cluster, that a text may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Candidate {
    pub(in crate::cli) kind: Named,
    pub(in crate::cli) namespace: String,
    pub(in crate::cli) name: String,
    /// The addon of a Cluster.
    pub(in crate::cli) addon: Option<String>,
}

/// Returns all objects that a text may refer to; the first existing one is meant. The forms are `NAME`, `KIND/NAME` and, as in
/// output, `NAMESPACE/NAME`; those of a Cluster can be followed by `/ADDON`. Without a kind, a Cluster comes before a
/// `ClusterStack`, and this before a release. Another namespace than `namespace` is possible only if `anywhere`.
pub(in crate::cli) fn candidates(text: &str, namespace: &str, anywhere: bool) -> Vec<Candidate> {
    let parts: Vec<&str> = text.split('/').collect();
    let one = |kind, namespace: &str, name: &str, addon: Option<&str>| Candidate {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        addon: addon.map(str::to_owned),
    };
    let is_cluster = |word: &str| kind_of(word) == Some(Named::Cluster);
    let of_each = |namespace: &str, name: &str| {
        [Named::Cluster, Named::Clusterstack, Named::Release].map(|kind| one(kind, namespace, name, None))
    };
    let mut found = Vec::new();
    match parts.as_slice() {
        [name] => found.extend(of_each(namespace, name)),
        [first, second] => {
            if let Some(kind) = kind_of(first) {
                found.push(one(kind, namespace, of_kind(first, second), None));
            }
            found.push(one(Named::Cluster, namespace, first, Some(second)));
            found.extend(of_each(first, second));
        }
        [first, cluster, addon] => {
            if is_cluster(first) {
                found.push(one(Named::Cluster, namespace, of_kind(first, cluster), Some(addon)));
            }
            found.extend(kind_of(first).map(|kind| one(kind, cluster, of_kind(first, addon), None)));
            found.extend(kind_of(cluster).map(|kind| one(kind, first, of_kind(cluster, addon), None)));
            found.push(one(Named::Cluster, first, cluster, Some(addon)));
        }
        _ => {}
    }
    found.retain(|candidate| anywhere || candidate.namespace == namespace);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Subject>, CliError> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        subjects(&words)
    }

    #[test]
    fn kinds_have_short_names() {
        for (text, expected) in [
            ("clusterstack demo", (Named::Clusterstack, "demo")),
            ("ClusterStack/demo", (Named::Clusterstack, "demo")),
            ("clusterstack.clusterstack.x-k8s.io/demo", (Named::Clusterstack, "demo")),
            ("cs/demo", (Named::Clusterstack, "demo")),
            ("csk/demo", (Named::Clusterstack, "demo")),
            ("cskr/a-b-1-34-v1", (Named::Release, "a-b-1-34-v1")),
            ("csr a-b-1-34-v1", (Named::Release, "a-b-1-34-v1")),
            ("cluster one", (Named::Cluster, "one")),
            ("cl one", (Named::Cluster, "one")),
            ("cluster.cluster.x-k8s.io/one", (Named::Cluster, "one")),
            ("caddon/cluster-addon-one", (Named::Cluster, "one")),
            ("cluster/cluster-addon-one", (Named::Cluster, "cluster-addon-one")),
        ] {
            let (kind, name) = expected;
            assert_eq!(parsed(text).unwrap(), [Subject::new(Some(kind), None, name)], "{text}");
        }
        for text in ["csk", "csk/", "csk/a/b/c", "csk/csr/b", "csk csr/b", "a/b/c", "/one", "one/"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn several_objects_can_be_named() {
        let one = |kind, namespace, name| Subject::new(kind, namespace, name);
        let (cluster, stack) = (Some(Named::Cluster), Some(Named::Clusterstack));
        for (text, expected) in [
            ("one two", [one(None, None, "one"), one(None, None, "two")]),
            ("prod/one csk/demo", [one(None, Some("prod"), "one"), one(stack, None, "demo")]),
            ("cl one prod/two", [one(cluster, None, "one"), one(cluster, Some("prod"), "two")]),
            ("csk/stacks/demo cl/one", [one(stack, Some("stacks"), "demo"), one(cluster, None, "one")]),
        ] {
            assert_eq!(parsed(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn one_object_has_the_kind_of_its_command() {
        let one = |text: &str, kind| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            only(&words, kind, "short").map(|subject| (subject.namespace.unwrap_or_default(), subject.name))
        };
        let (cluster, stack) = (Named::Cluster, Named::Clusterstack);
        for (text, kind, namespace, name) in [
            ("demo", stack, "", "demo"),
            ("stacks/demo", stack, "stacks", "demo"),
            ("csk/demo", stack, "", "demo"),
            ("csk demo", stack, "", "demo"),
            ("clusterstack.clusterstack.x-k8s.io/demo", stack, "", "demo"),
            ("csk/stacks/demo", stack, "stacks", "demo"),
            ("one", cluster, "", "one"),
            ("cl/prod/one", cluster, "prod", "one"),
        ] {
            assert_eq!(one(text, kind).unwrap(), (namespace.to_owned(), name.to_owned()), "{text}");
        }
        for (text, kind) in
            [("cl/one", stack), ("csr demo", stack), ("demo two", stack), ("csk/demo", cluster)]
        {
            let error = one(text, kind).unwrap_err();
            assert!(error.to_string().contains(&format!("expected one {kind}")), "{text}: {error}");
        }
    }

    #[test]
    fn printed_subject_is_accepted() {
        let parsed = |text: &str, anywhere| {
            let found = candidates(text, "default", anywhere).into_iter().map(|found| {
                let Candidate { kind, namespace, name, addon } = found;
                let kind = match kind {
                    Named::Cluster => "",
                    Named::Clusterstack => "csk ",
                    Named::Release => "csr ",
                };
                format!(
                    "{kind}{namespace}/{name}{}",
                    addon.map(|addon| format!(" {addon}")).unwrap_or_default()
                )
            });
            found.collect::<Vec<_>>().join(", ")
        };
        for (text, anywhere, expected) in [
            ("one", true, "default/one, csk default/one, csr default/one"),
            ("one/cni", true, "default/one cni, one/cni, csk one/cni, csr one/cni"),
            ("demo/one", false, "default/demo one"),
            ("default/one", false, "default/default one, default/one, csk default/one, csr default/one"),
            ("cluster/one", false, "default/one, default/cluster one"),
            ("csk/demo", false, "csk default/demo, default/csk demo"),
            ("csr/a-b-1-34-v1", false, "csr default/a-b-1-34-v1, default/csr a-b-1-34-v1"),
            ("caddon/cluster-addon-one", false, "default/one, default/caddon cluster-addon-one"),
            ("demo/one/cni", true, "demo/one cni"),
            ("csk/stacks/demo", true, "csk stacks/demo, csk/stacks demo"),
            ("demo/one/cni", false, ""),
            ("cluster/one/cni", false, "default/one cni"),
            ("a/b/c/d", true, ""),
        ] {
            assert_eq!(parsed(text, anywhere), expected, "{text}");
        }
    }
}
