//! Pointers of Git LFS that stand in place of files: source-controller does not fetch what they point to.

use crate::release::content::is_needed_by_a_chart;
use crate::release::files::Files;
use crate::release::finding::{Finding, Findings, Reason};

/// Maximum length of a pointer in bytes, by the specification of Git LFS.
const MAX_POINTER: usize = 1024;

/// Reports the pointers in a release: an error where Flux, Helm or stackflux reads the file, otherwise a warning.
pub(in crate::release) fn check(files: &Files, findings: &mut Findings) {
    report(files, |path| !path.contains('/') || is_needed_by_a_chart(path), findings);
}

/// Reports the pointers in an archive of a chart.
pub(super) fn check_archived(files: &Files, findings: &mut Findings) {
    report(files, |_| true, findings);
}

fn report(files: &Files, is_used: impl Fn(&str) -> bool, findings: &mut Findings) {
    for (path, _) in files.iter().filter(|(_, file)| is_pointer(&file.content)) {
        let message = "the file is a pointer of Git LFS: source-controller does not fetch its content";
        let hint = "run `git lfs pull`, then `git lfs untrack` the file and commit its content";
        let finding = if is_used(path) && is_read(path) {
            Finding::error(Reason::LfsPointer, path, message)
        } else {
            Finding::warning(Reason::LfsPointer, path, message)
        };
        findings.push(finding.hint(hint));
    }
}

/// Whether the content is a pointer and not a file.
pub(super) fn is_pointer(content: &[u8]) -> bool {
    content.len() <= MAX_POINTER
        && content.starts_with(b"version https://git-lfs.github.com/spec/")
        && content.windows(12).any(|text| text == b"\noid sha256:")
}

fn is_read(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "yaml" | "yml" | "json" | "tpl" | "tgz")
        || directory.split('/').any(|part| part == "templates")
}
