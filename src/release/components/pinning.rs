//! Replaces references that can change by exact ones, in the text of `components.yaml`.

use super::{COMPONENTS, ComponentForm, ComponentSource, read_content, source};
use crate::names::Revision;
use crate::release::document::{Document, Value};
use crate::release::files::{File, Files, Limits};
use crate::release::finding::{Finding, Findings, Reason};

/// A repository of `components.yaml`, and the content of it that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRepository {
    /// Its name in the list.
    pub name: String,
    /// Its address, and which of its content.
    pub source: ComponentSource,
    /// The directories of the charts; `.` for the root.
    pub charts: Vec<String>,
    followed: Option<Followed>,
}

/// The field that follows content which can change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Followed {
    key: &'static str,
    line: u64,
    column: u64,
}

/// Lists the repositories of `components.yaml`, also those whose references can change.
///
/// # Errors
/// Everything else that is wrong with the file.
pub fn list_repositories(files: &Files, limits: &Limits) -> Result<Vec<ListedRepository>, Findings> {
    let mut findings = Findings::default();
    let listed = read(files, limits, &mut findings);
    if files.get(COMPONENTS).is_none() {
        let message = "the release has no components";
        findings.push(Finding::error(Reason::MissingFile, COMPONENTS, message));
    }
    let mut others = Findings::default();
    let is_other = |finding: &&Finding| finding.reason != Reason::MutableReference;
    findings.errors().filter(is_other).for_each(|finding| others.push(finding.clone()));
    if others.has_errors() { Err(others) } else { Ok(listed) }
}

fn read(files: &Files, limits: &Limits, findings: &mut Findings) -> Vec<ListedRepository> {
    let Some(document) = Document::read(files, COMPONENTS, true, limits, findings) else { return Vec::new() };
    let Some(list) = document.root().get("repositories") else { return Vec::new() };
    let mut listed = Vec::new();
    for repository in list.items(findings) {
        let name = repository.required("name", Reason::InvalidField, findings);
        let (Some(name), Some(source)) = (name, source::read(&repository, findings)) else { continue };
        let items = repository.get("components").map(|items| items.items(findings)).unwrap_or_default();
        let contents: Vec<_> = items.iter().filter_map(|item| read_content(item, findings)).collect();
        let charts = contents.into_iter().filter(|(form, _)| *form == ComponentForm::Chart);
        let charts = charts.map(|(_, path)| path).collect();
        listed.push(ListedRepository { followed: followed(&repository, &source), name, source, charts });
    }
    listed
}

/// Finds the field that a source follows.
fn followed(repository: &Value<'_>, source: &ComponentSource) -> Option<Followed> {
    let (fields, keys): (_, &[&'static str]) = match source {
        ComponentSource::Git { .. } => {
            (repository.get("git")?.get("ref")?, &["tag", "semver", "name", "branch"])
        }
        ComponentSource::Oci { .. } => (repository.get("oci")?, &["tag", "semver"]),
        ComponentSource::HelmIndex { .. } => return None,
    };
    let (key, value) = keys.iter().find_map(|key| Some((*key, fields.get(key)?)))?;
    let place = value.error(Reason::MutableReference, "");
    Some(Followed { key, line: place.line?, column: place.column? })
}

fn list_text(text: &str, limits: &Limits) -> Option<Vec<ListedRepository>> {
    let mut files = Files::default();
    files.insert(COMPONENTS, File { content: text.as_bytes().to_vec(), executable: false }).ok()?;
    list_repositories(&files, limits).ok()
}

impl ListedRepository {
    /// Returns the text of `components.yaml` with an exact reference of this repository; everything else stays, and the end
    /// of the line says in a comment what the reference stood for. `None` if the text has a form that is only edited by
    /// hand.
    #[must_use]
    pub fn pinned(&self, text: &str, exact: &ComponentSource, limits: &Limits) -> Option<String> {
        let edited = self.edited(text, &fields(exact))?;
        let (before, after) = (list_text(text, limits)?, list_text(&edited, limits)?);
        let is_as_wanted = |(before, after): (&Self, &Self)| {
            let source = if before == self { exact } else { &before.source };
            (&before.name, source, &before.charts) == (&after.name, &after.source, &after.charts)
        };
        let is_right = before.len() == after.len() && before.iter().zip(&after).all(is_as_wanted);
        is_right.then_some(edited)
    }

    fn edited(&self, text: &str, fields: &[(&str, &str)]) -> Option<String> {
        let Followed { key, line, column } = self.followed.as_ref()?;
        let index = usize::try_from(*line).ok()?.checked_sub(1)?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let line = *lines.get(index)?;
        let (body, end) = line.find(['\r', '\n']).map_or((line, ""), |at| line.split_at(at));
        let column = usize::try_from(*column).ok()?.checked_sub(1)?;
        let (before, value) = body.split_at(body.char_indices().nth(column)?.0);
        let before = before.trim_end().strip_suffix(':')?.strip_suffix(key)?;
        let is_flow = before.contains('{');
        let rest = value.get(scalar_end(value, is_flow)?..)?;
        let written = fields.iter().map(|(key, value)| format!("{key}: {value}"));
        let separator = if is_flow { ", ".to_owned() } else { format!("\n{}", blank(before)) };
        let written = written.collect::<Vec<_>>().join(&separator);
        let followed = format!(" # {}", self.source.followed());
        let is_commented = rest.contains('#') || followed.chars().any(char::is_control);
        let comment = if is_commented { "" } else { followed.as_str() };
        let (head, tail) = (lines.get(..index)?.concat(), lines.get(index + 1..)?.concat());
        Some(format!("{head}{before}{written}{}{comment}{end}{tail}", rest.trim_end()))
    }
}

/// Returns the fields of an exact reference.
fn fields(exact: &ComponentSource) -> Vec<(&str, &str)> {
    match exact {
        ComponentSource::Git { reference, .. } => {
            let branch = reference.branch.as_deref().map(|branch| ("branch", branch));
            let commit = reference.commit.as_ref().map(|commit| ("commit", Revision::as_str(commit)));
            branch.into_iter().chain(commit).collect()
        }
        ComponentSource::Oci { reference, .. } => {
            reference.digest.iter().map(|digest| ("digest", digest.as_str())).collect()
        }
        ComponentSource::HelmIndex { .. } => Vec::new(),
    }
}

/// Returns the end of the scalar that a text begins with.
fn scalar_end(text: &str, is_flow: bool) -> Option<usize> {
    match text.chars().next()? {
        quote @ ('"' | '\'') => Some(text.get(1..)?.find(quote)? + 2),
        '|' | '>' | '&' | '*' | '!' => None,
        _ => {
            let comment = text.find(" #").unwrap_or(text.len());
            let next = text.find([',', '}']).filter(|_| is_flow).unwrap_or(text.len());
            Some(comment.min(next))
        }
    }
}

/// Returns the indentation of a key that follows this text: a `- ` before it counts.
fn blank(before: &str) -> String {
    before.chars().map(|_| ' ').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{GitReference, OciReference};

    const COMMIT: &str = "9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b";
    const DIGEST: &str = "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495";

    fn files(text: &str) -> Files {
        let mut files = Files::default();
        files.insert(COMPONENTS, File { content: text.as_bytes().to_vec(), executable: false }).unwrap();
        files
    }

    /// Pins the only repository of a list with these lines.
    fn pinned(lines: &str) -> Option<String> {
        let head = "repositories:\n- name: a\n";
        let tail = "  components:\n  - {name: x, chart: .}\n";
        let (limits, text) = (Limits::default(), format!("{head}{lines}{tail}"));
        let listed = list_repositories(&files(&text), &limits).unwrap();
        let [only] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!(only.charts, ["."]);
        let exact = match &only.source {
            ComponentSource::Git { url, .. } => {
                let commit = Some(COMMIT.parse().unwrap());
                let reference =
                    GitReference { branch: Some("main".to_owned()), commit, ..GitReference::default() };
                ComponentSource::Git { url: url.clone(), reference }
            }
            other => {
                let reference = OciReference { digest: Some(DIGEST.to_owned()), ..OciReference::default() };
                ComponentSource::Oci { url: other.url().to_owned(), reference }
            }
        };
        let text = only.pinned(&text, &exact, &limits)?;
        let lines = text.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        Some(lines.expect("the rest of the file stays").replace(COMMIT, "COMMIT").replace(DIGEST, "DIGEST"))
    }

    #[test]
    fn reference_is_replaced_and_the_rest_stays() {
        let (git, oci) = ("  git:\n    url: https://h/r # why\n    ref:\n", "  oci:\n    url: oci://h/r\n");
        for (before, after) in [
            (
                format!("{git}      tag: v1\n"),
                format!("{git}      branch: main\n      commit: COMMIT # tag v1\n"),
            ),
            (
                format!("{git}      branch: \"main\" # ours\n"),
                format!("{git}      branch: main\n      commit: COMMIT # ours\n"),
            ),
            (
                "  git: {url: https://h/r, ref: {semver: '>=1, <2'}}\n".to_owned(),
                "  git: {url: https://h/r, ref: {branch: main, commit: COMMIT}} # semver >=1, <2\n"
                    .to_owned(),
            ),
            (
                "  oci: {url: oci://h/r, tag: \"1\\nx: y\"}\n".to_owned(),
                "  oci: {url: oci://h/r, digest: DIGEST}\n".to_owned(),
            ),
            (format!("{oci}    tag: '1'\r\n"), format!("{oci}    digest: DIGEST # tag 1\r\n")),
            (
                "  oci: {tag: 1.2.3, url: oci://h/r}\n".to_owned(),
                "  oci: {digest: DIGEST, url: oci://h/r} # tag 1.2.3\n".to_owned(),
            ),
        ] {
            assert_eq!(pinned(&before).as_deref(), Some(after.as_str()), "{before}");
        }
    }

    #[test]
    fn text_that_is_edited_by_hand_stays() {
        for lines in [
            "  git: {url: https://h/r}\n",
            "  git: {url: https://h/r, ref: {tag: &tag v1}}\n",
            "  git:\n    url: https://h/r\n    ref:\n      tag:\n        v1\n",
            "  git:\n    url: https://h/r\n    ref: {\n      tag: v1\n    }\n",
            "  git: {url: https://h/r, ref: {\"tag\": v1}}\n",
        ] {
            assert_eq!(pinned(lines), None, "{lines}");
        }
    }

    #[test]
    fn edit_has_exactly_the_wanted_effect() {
        let limits = Limits::default();
        let text = "repositories:\n- name: a\n  oci: {url: oci://h/r, tag: v1}\n  components: []\n\
            - name: a\n  oci: {url: oci://h/s, tag: v1}\n  components: []\n";
        let listed = list_repositories(&files(text), &limits).unwrap();
        let exact = |url: &str| ComponentSource::Oci {
            url: url.to_owned(),
            reference: OciReference { digest: Some(DIGEST.to_owned()), ..OciReference::default() },
        };
        assert!(listed[1].pinned(text, &exact("oci://h/s"), &limits).is_some());
        assert_eq!(
            listed[1].pinned(text, &exact("oci://h/r"), &limits),
            None,
            "that is the source of another one"
        );
    }

    #[test]
    fn other_errors_are_reported() {
        let text = "repositories:\n- name: a\n  git: {url: /r, ref: {tag: v1}}\n";
        let findings = list_repositories(&files(text), &Limits::default()).unwrap_err();
        assert_eq!(findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), [Reason::InvalidField]);
        let none = list_repositories(&Files::default(), &Limits::default()).unwrap_err();
        assert_eq!(none.iter().next().map(|finding| finding.reason), Some(Reason::MissingFile));
    }
}
