//! Whether a `ClusterStack` uses a release that has no errors of its own.

use std::borrow::Cow;

use crate::api::WaitHandling;
use crate::inputs::platform::with_components;
use crate::inputs::stack::Stack;
use crate::release::{Findings, Release};

/// Returns a release with the components of its `ClusterStack`, unless the release cannot be used with the settings.
pub fn accept<'a>(stack: &Stack, release: &'a Release) -> Result<Cow<'a, Release>, Findings> {
    let mut findings = Findings::default();
    if stack.flux.waits == WaitHandling::Refuse {
        findings.extend(release.waits.iter().map(|wait| wait.finding.clone()));
    }
    if findings.has_errors() {
        return Err(findings);
    }
    Ok(with_components(stack, release))
}
