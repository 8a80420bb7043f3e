//! Lines of releases.

use crate::api::ClusterStackSpec;
use crate::names::ReleaseName;

/// A line of releases: those of one provider, stack and channel, for any Kubernetes version. The line of the channel
/// `custom` has all releases whose version has a suffix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The provider, such as `openstack`.
    pub provider: String,
    /// The stack, such as `scs2`.
    pub stack: String,
    /// The channel, such as `stable`.
    pub channel: String,
}

impl Line {
    /// Returns the line of a `ClusterStack`.
    #[must_use]
    pub fn of_stack(spec: &ClusterStackSpec) -> Self {
        Self { provider: spec.provider.clone(), stack: spec.name.clone(), channel: spec.channel.clone() }
    }

    /// Returns the line of a release.
    #[must_use]
    pub fn of(release: &ReleaseName) -> Self {
        Self {
            provider: release.provider().to_owned(),
            stack: release.stack().to_owned(),
            channel: release.version().channel().to_owned(),
        }
    }

    /// Whether a release is of this line.
    #[must_use]
    pub fn has(&self, release: &ReleaseName) -> bool {
        (self.provider.as_str(), self.stack.as_str()) == (release.provider(), release.stack())
            && release.version().is_of_channel(&self.channel)
    }
}
