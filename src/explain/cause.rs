//! Causes that the messages of Flux, Helm, Kubernetes and Git servers prove, each with what to do about it.
//!
//! Advice belongs to the cause. The reason of a condition is a word of Flux's for many causes: `InstallFailed` is a template that
//! fails, a field that cannot be changed, and a workload that does not start.

mod table;

use crate::foreign::flux::FluxKind;

pub use self::table::causes;

/// The component whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Flux fetches a Git repository.
    Git,
    /// Flux fetches an OCI artifact.
    Oci,
    /// Flux packages a chart.
    Chart,
    /// Flux installs a chart with Helm.
    Helm,
    /// Flux applies manifests.
    Manifests,
    /// The operator writes objects of the management cluster.
    Writing,
    /// The operator delivers through Git.
    Delivery,
    /// The operator publishes releases.
    Publishing,
}

impl Component {
    /// Returns the place where its messages stand: a kind of Flux, or what the operator does.
    #[must_use]
    pub fn place(self) -> &'static str {
        match self {
            Self::Git => FluxKind::GitRepository.as_str(),
            Self::Oci => FluxKind::OCIRepository.as_str(),
            Self::Chart => FluxKind::HelmChart.as_str(),
            Self::Helm => FluxKind::HelmRelease.as_str(),
            Self::Manifests => FluxKind::Kustomization.as_str(),
            Self::Writing => "requests of the operator",
            Self::Delivery => "delivery through Git",
            Self::Publishing => "publishing",
        }
    }
}

impl From<FluxKind> for Component {
    fn from(kind: FluxKind) -> Self {
        match kind {
            FluxKind::GitRepository => Self::Git,
            FluxKind::OCIRepository => Self::Oci,
            FluxKind::HelmChart => Self::Chart,
            FluxKind::HelmRelease => Self::Helm,
            FluxKind::Kustomization => Self::Manifests,
        }
    }
}

/// A cause, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Name, such as `WorkloadsNotReady`.
    pub name: &'static str,
    /// What the message proves, in one sentence.
    pub meaning: &'static str,
    /// What a user has to do, in one sentence.
    pub action: &'static str,
    /// Commands that show more or help, with the placeholders of [`Place`](super::next::Place).
    pub commands: &'static [&'static str],
    /// The components whose messages can prove it.
    of: &'static [Component],
    /// The texts that prove it: each list is one proof, whose texts all have to be in the message.
    proofs: &'static [&'static [&'static str]],
}

impl Cause {
    /// Returns the components whose messages can prove this cause.
    #[must_use]
    pub fn components(&self) -> &'static [Component] {
        self.of
    }

    /// Returns the proofs of this cause: each is a list of texts that all have to be in the message.
    #[must_use]
    pub fn proofs(&self) -> &'static [&'static [&'static str]] {
        self.proofs
    }

    /// Whether messages of a component can prove this cause.
    #[must_use]
    pub fn is_of(&self, component: Component) -> bool {
        self.of.contains(&component)
    }

    /// Whether a message of a component proves this cause.
    fn is_proven(&self, component: Component, message: &str) -> bool {
        let has_all = |texts: &&[&str]| texts.iter().all(|text| message.contains(text));
        self.is_of(component) && self.proofs.iter().any(has_all)
    }
}

/// Returns the cause that a message of a component proves; of several, the first of the [table](causes).
#[must_use]
pub fn proven(component: Component, message: &str) -> Option<&'static Cause> {
    causes().find(|cause| cause.is_proven(component, message))
}

/// Returns a message with what to do about the cause that it proves, as in `…: access forbidden (403); give the account …`.
#[must_use]
pub fn hinted(component: Component, message: &str) -> String {
    proven(component, message)
        .map_or_else(|| message.to_owned(), |cause| message.to_owned() + &hint(cause.action))
}

/// Returns a message without the hint that says the same as an action.
#[must_use]
pub fn unhinted<'m>(message: &'m str, action: &str) -> &'m str {
    message.strip_suffix(&hint(action)).unwrap_or(message)
}

/// Returns an action as the last part of a message.
fn hint(action: &str) -> String {
    let mut letters = action.trim_end_matches('.').chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    format!("; {}{}", first.map(String::from).unwrap_or_default(), letters.as_str())
}

#[cfg(test)]
mod tests;
