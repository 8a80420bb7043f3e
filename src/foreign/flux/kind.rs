//! The kinds of Flux that stackflux writes and reads, with their names in the API: the only place that lists them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of Flux. All kinds but `HelmRelease` (`v2`) are served as `v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum FluxKind {
    /// Installs a chart.
    HelmRelease,
    /// Applies manifests.
    Kustomization,
    /// Fetches a repository.
    GitRepository,
    /// Fetches an artifact of a registry.
    OCIRepository,
    /// Packages a chart of a repository.
    HelmChart,
}

/// The names of a kind.
struct Names {
    api_version: &'static str,
    kind: &'static str,
    kinds: &'static str,
    controller: &'static str,
}

impl FluxKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::HelmRelease, Self::Kustomization, Self::GitRepository, Self::OCIRepository, Self::HelmChart];

    /// The two kinds that deliver an addon. If an object of them is deleted, Flux uninstalls what it installed for it.
    pub const DELIVERING: [Self; 2] = [Self::HelmRelease, Self::Kustomization];

    const fn names(self) -> Names {
        match self {
            Self::HelmRelease => Names {
                api_version: "helm.toolkit.fluxcd.io/v2",
                kind: "HelmRelease",
                kinds: "HelmReleases",
                controller: "helm-controller",
            },
            Self::Kustomization => Names {
                api_version: "kustomize.toolkit.fluxcd.io/v1",
                kind: "Kustomization",
                kinds: "Kustomizations",
                controller: "kustomize-controller",
            },
            Self::GitRepository => Names {
                api_version: "source.toolkit.fluxcd.io/v1",
                kind: "GitRepository",
                kinds: "GitRepositories",
                controller: "source-controller",
            },
            Self::OCIRepository => Names {
                api_version: "source.toolkit.fluxcd.io/v1",
                kind: "OCIRepository",
                kinds: "OCIRepositories",
                controller: "source-controller",
            },
            Self::HelmChart => Names {
                api_version: "source.toolkit.fluxcd.io/v1",
                kind: "HelmChart",
                kinds: "HelmCharts",
                controller: "source-controller",
            },
        }
    }

    /// Finds the kind with this name; `None` if it is not one of these kinds.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Returns the name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.names().kind
    }

    /// Returns the name of the kind for several objects.
    #[must_use]
    pub const fn many(self) -> &'static str {
        self.names().kinds
    }

    /// Whether objects of the kind have content for others, also for those in other namespaces.
    #[must_use]
    pub const fn is_source(self) -> bool {
        matches!(self, Self::GitRepository | Self::OCIRepository | Self::HelmChart)
    }

    /// Returns group and version of the API.
    #[must_use]
    pub const fn api_version(self) -> &'static str {
        self.names().api_version
    }

    /// Returns the API group.
    #[must_use]
    pub fn group(self) -> &'static str {
        self.group_and_version().0
    }

    /// Returns the version of the API.
    #[must_use]
    pub fn version(self) -> &'static str {
        self.group_and_version().1
    }

    fn group_and_version(self) -> (&'static str, &'static str) {
        self.api_version().split_once('/').unwrap_or_default()
    }

    /// Returns the plural of the kind for URLs.
    #[must_use]
    pub fn plural(self) -> String {
        self.many().to_lowercase()
    }

    /// Returns the controller that acts on objects of the kind.
    #[must_use]
    pub const fn controller(self) -> &'static str {
        self.names().controller
    }
}

impl fmt::Display for FluxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use kube::core::ApiResource;
    use serde_json::json;

    use super::*;
    use crate::foreign::flux::observed::FluxObject;

    #[test]
    fn names_of_a_kind_agree() {
        for kind in FluxKind::ALL {
            assert_eq!((FluxKind::of(kind.as_str()), json!(kind)), (Some(kind), json!(kind.to_string())));
            let resource = ApiResource::erase::<FluxObject>(&kind);
            assert_eq!(
                (resource.api_version.as_str(), resource.kind.as_str()),
                (kind.api_version(), kind.as_str())
            );
        }
        assert_eq!(FluxKind::of("HelmRepository"), None);
    }
}
