//! The condition types of our kinds, and the reasons that they give.
//!
//! A reason is the reason of a condition and of an event, and a label of metrics. The reference of reasons,
//! `docs/reasons.md`, is generated from [`Reason::meaning`] and [`Reason::action`].

mod reasons;

use serde::{Deserialize, Serialize};

use crate::names::words;
pub use reasons::Reason;

words! {
    /// The status of a condition, the most important first. Any other word is unknown.
    #[derive(Default, Deserialize, Serialize)]
    #[serde(from = "String")]
    ConditionStatus {
        /// An issue.
        False,
        /// Unknown, or not known yet.
        #[default]
        Unknown,
        /// The part is good.
        True,
    }
}

impl From<String> for ConditionStatus {
    fn from(text: String) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == text).unwrap_or_default()
    }
}

words! {
    /// The type of a condition.
    ConditionType {
        /// All kinds: the sum of the others. As in kstatus.
        Ready,
        /// All kinds: the object is being reconciled. Absent otherwise. As in kstatus.
        Reconciling,
        /// All kinds: progress needs a change by a user. Absent otherwise. As in kstatus.
        Stalled,
        /// `ClusterStack`: Flux follows the stack repository, and it was read.
        SourceReady,
        /// `ClusterStack`: a `ClusterStackRelease` exists for each release that is offered or in use, and no others exist.
        ReleasesSynced,
        /// `ClusterStack`: the cluster classes of all releases in use exist.
        ClusterClassesReady,
        /// `ClusterStack`, with components of its own: all of them can be used.
        ComponentsReady,
        /// `ClusterStack`: the Clusters of its classes are ready. `Ready` does not include it.
        ClustersReady,
        /// `ClusterAddon`: the addons of the Cluster are ready.
        AddonsReady,
        /// `ClusterStack`, with an upstream source: the releases that it offers are in the stack repository.
        ReleasesPublished,
        /// `ClusterStackRelease`: the release was read and has no errors.
        ReleaseValid,
        /// `ClusterStackRelease`: the provider's object reports that it is ready.
        ProviderReady,
        /// `ClusterStackRelease`, with components: Flux has fetched all sources of the release.
        SourcesReady,
        /// `ClusterStackRelease`: the node images were applied and are ready.
        NodeImagesReady,
        /// `ClusterStackRelease`: the cluster class was applied and is ready.
        ClusterClassReady,
        /// `ClusterStackRelease`: a cluster uses the release.
        InUse,
        /// `ClusterAddon`: the cluster's control plane is initialized, and nothing holds the cluster.
        ClusterAvailable,
        /// `ClusterAddon`: the release of the cluster's class can be used.
        ReleaseReady,
        /// `ClusterAddon`: all fields that the values templates read exist.
        ValuesRendered,
        /// `ClusterAddon`: the Flux objects are as planned. `ClusterStack`, with delivery through Git: they are
        /// committed, and Flux has applied the commit.
        Delivered,
        /// `ClusterAddon`: nothing of stackflux delays an upgrade to another Kubernetes version.
        UpgradeGate,
    }
}

#[cfg(test)]
mod tests {
    //! The words in a status.

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_pascal_case_and_differ() {
        let types: Vec<&str> = ConditionType::ALL.iter().map(|word| word.as_str()).collect();
        let reasons: Vec<&str> = Reason::ALL.iter().map(|word| word.as_str()).collect();
        for words in [types, reasons] {
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
            for word in words {
                assert!(word.starts_with(|first: char| first.is_ascii_uppercase()), "{word}");
                assert!(word.chars().all(|character| character.is_ascii_alphanumeric()), "{word}");
            }
        }
    }

    #[test]
    fn reason_meaning_and_action_are_single_sentences() {
        for reason in Reason::ALL {
            for sentence in [reason.meaning(), reason.action()] {
                assert!(
                    sentence.ends_with('.') && sentence.matches(". ").count() == 0,
                    "{reason}: {sentence}"
                );
                assert!(
                    sentence.starts_with(|first: char| first.is_ascii_uppercase()),
                    "{reason}: {sentence}"
                );
            }
        }
    }
}
