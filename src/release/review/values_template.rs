//! Values templates that read a root which no Cluster has.

use gotemplate::{OutsideRead, Template};

use crate::release::CLUSTER_ADDON;
use crate::release::addons::{COMMON_TEMPLATE, OWN_TEMPLATE};
use crate::release::components;
use crate::release::document::read_text;
use crate::release::files::{Files, Limits};
use crate::release::finding::{Finding, Findings, Reason};
use crate::release::values::ROOTS;

/// Maximum number of reads reported per template.
const MAX_READS: usize = 20;

/// Reports the reads of roots that do not exist: an error where the addon would wait for ever, otherwise a warning.
pub(super) fn check(files: &Files, limits: &Limits, findings: &mut Findings) {
    let of_components = components::read(files, limits, &mut Findings::default()).templates();
    let is_template = |path: &&str| {
        let inner = path.strip_prefix(CLUSTER_ADDON).and_then(|inner| inner.strip_prefix('/'));
        *path == COMMON_TEMPLATE
            || inner.is_some_and(|inner| inner.rsplit('/').next() == Some(OWN_TEMPLATE))
            || of_components.contains(*path)
    };
    for path in files.iter().map(|(path, _)| path).filter(is_template) {
        // Reading the addons reports the other errors in the file.
        let Some(source) = read_text(files, path, limits.yaml_file, &mut Findings::default()) else {
            continue;
        };
        let Ok(template) = Template::parse(path, source) else { continue };
        let mut reads = template.reads_outside(&ROOTS);
        // An error must not be hidden by warnings before it.
        reads.sort_by_key(|read| !read.is_needed);
        findings.extend(reads.iter().take(MAX_READS).map(|read| finding(path, source, read)));
    }
}

fn finding(path: &str, source: &str, read: &OutsideRead) -> Finding {
    let (field, position) = (&read.field, read.place.position);
    let finding = if read.is_needed {
        let message = format!("no Cluster ever has {field}: the addon would wait for it for ever");
        Finding::error(Reason::UnknownRoot, path, message)
    } else {
        let message = format!("no Cluster ever has {field}: the template always finds it empty");
        Finding::warning(Reason::UnknownRoot, path, message)
    };
    let finding = finding.at(position.line as u64, position.column as u64, source);
    finding.hint(match &read.suggestion {
        Some(root) => format!("did you mean .{root}?"),
        None => "a values template reads .Cluster, .ControlPlane and .InfraCluster, and nothing of Helm"
            .to_owned(),
    })
}
