//! The files that Flux leaves out of an artifact.
//!
//! source-controller (package `sourceignore` of fluxcd/pkg) has pattern rules of its own, which are similar to Git's but
//! not the same: a pattern can include a file below a left-out directory again, `*` stands for Go's `filepath.Match`,
//! and one pattern in any `.sourceignore` replaces the default list of file types and CI files. The digest of a work
//! tree must equal that of Flux's artifact, so these are Flux's rules.

use super::files::Files;
use super::finding::{Finding, Reason};

mod wildcard;

pub(super) use wildcard::Wildcard;

/// The file with patterns, in any directory.
pub const IGNORE_FILE: &str = ".sourceignore";

/// Always left out, unless a pattern includes it again.
const VERSION_CONTROL: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// The patterns for a repository without patterns of its own.
const DEFAULTS: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// Maximum length of a line: a longer one ends the reading of a file of patterns, as in Go's line scanner.
const MAX_LINE: usize = 64 << 10;

/// Maximum number of patterns: more are an attack, because each is compared with each file.
pub(super) const MAX_PATTERNS: usize = 1_000;

/// The rules by which Flux leaves out files.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Pattern>);

impl Rules {
    /// The rules of a directory with these `.sourceignore` files in any order, each with its directory, relative to the
    /// one that Flux archives (the empty string is that one itself). More than 1,000 patterns are an error.
    pub fn new(ignore_files: impl IntoIterator<Item = (String, String)>) -> Result<Self, Box<Finding>> {
        // Flux reads a directory before those below it, and the last pattern that matches decides. By name `.github/` comes
        // before `.sourceignore`.
        let mut ignore_files: Vec<_> = ignore_files.into_iter().collect();
        ignore_files.sort_by_key(|(directory, _)| directory.split_terminator('/').count());
        let mut own = Vec::new();
        for (directory, text) in ignore_files {
            // Unlike Rust's `lines`, this also strips the carriage return of a last line without a line feed.
            let lines = text.split('\n').take_while(|line| line.len() < MAX_LINE);
            let lines = lines.map(|line| line.strip_suffix('\r').unwrap_or(line));
            let patterns = lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty());
            let left = MAX_PATTERNS - own.len();
            own.extend(patterns.take(left + 1).map(|line| Pattern::new(line, &directory)));
            if own.len() > MAX_PATTERNS {
                let file = format!("{directory}/{IGNORE_FILE}");
                let message =
                    format!("with this file, the release exceeds the limit of {MAX_PATTERNS} patterns");
                let finding = Finding::error(Reason::LimitExceeded, file.trim_start_matches('/'), message);
                return Err(Box::new(finding));
            }
        }
        let defaults = if own.is_empty() { DEFAULTS.as_slice() } else { &[] };
        let built_in = VERSION_CONTROL.iter().chain(defaults).map(|line| Pattern::new(line, ""));
        Ok(Self(built_in.chain(own).collect()))
    }

    /// Whether Flux leaves out the file of this path: the last pattern that matches decides.
    #[must_use]
    pub fn leave_out(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.0.iter().rev().find(|pattern| pattern.matches(&parts)).is_some_and(|pattern| !pattern.includes)
    }
}

impl Files {
    /// Notes the files that Flux leaves out of an artifact as ignored.
    pub fn without_ignored(self) -> Result<Self, Box<Finding>> {
        let rules = Rules::new(self.ignore_files())?;
        Ok(self.ignoring(|path| rules.leave_out(path)))
    }

    /// Returns the `.sourceignore` files, each with its directory.
    pub fn ignore_files(&self) -> impl Iterator<Item = (String, String)> {
        self.iter().filter_map(|(path, file)| {
            Some((directory_of(path)?.to_owned(), String::from_utf8_lossy(&file.content).into_owned()))
        })
    }
}

/// Returns the directory of a `.sourceignore`, or `None` for another file.
#[must_use]
pub fn directory_of(path: &str) -> Option<&str> {
    let directory = path.strip_suffix(IGNORE_FILE)?;
    if directory.is_empty() { Some("") } else { directory.strip_suffix('/') }
}

/// One line of a `.sourceignore`.
#[derive(Clone, Debug)]
struct Pattern {
    /// The directory of the file with this line: the pattern matches nothing outside.
    domain: Vec<String>,
    parts: Vec<Part>,
    /// Whether it is written with a leading `!`.
    includes: bool,
    /// Whether it is written with a trailing `/`.
    directories_only: bool,
}

/// The parts of a pattern between two `/`.
#[derive(Clone, Debug)]
enum Part {
    Empty,
    AnyDirectories,
    Name(Wildcard),
    /// A part that Go's matcher cannot parse.
    Never,
}

impl Pattern {
    fn new(line: &str, directory: &str) -> Self {
        let (includes, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (directories_only, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
        let alone = !line.contains('/');
        let part = |text: &str| match text {
            "" if !alone => Part::Empty,
            "**" if !alone => Part::AnyDirectories,
            _ if !alone && text.contains("**") => Part::Never,
            _ => Wildcard::parse(text).map_or(Part::Never, Part::Name),
        };
        let domain = directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self { domain, parts: line.split('/').map(part).collect(), includes, directories_only }
    }

    /// Whether the pattern matches the path of a file.
    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, path)) = path.split_at_checked(self.domain.len()) else { return false };
        if path.is_empty() || domain != self.domain.as_slice() {
            return false;
        }
        match self.parts.as_slice() {
            [Part::Name(name)] => self.matches_a_part(name, path),
            [Part::Never] => false,
            parts => self.matches_from_the_domain(parts, path),
        }
    }

    /// Whether a pattern without `/` matches. It matches at any depth; if it matches a directory, it matches all files
    /// below.
    fn matches_a_part(&self, name: &Wildcard, path: &[&str]) -> bool {
        let first = path.iter().position(|part| name.matches(part));
        first.is_some_and(|at| !self.directories_only || at + 1 < path.len())
    }

    /// Whether a pattern with `/` matches the beginning of a path. `**` stands for any number of directories: the first
    /// part that fits the next pattern part is taken, without backtracking.
    fn matches_from_the_domain(&self, parts: &[Part], mut path: &[&str]) -> bool {
        let mut matched = false;
        let mut anywhere = false;
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Empty => anywhere = false,
                Part::AnyDirectories if at + 1 == parts.len() => break,
                Part::AnyDirectories => anywhere = true,
                Part::Never => return false,
                Part::Name(name) => {
                    let found = path.iter().position(|part| name.matches(part));
                    match found {
                        Some(skipped) if anywhere || skipped == 0 => {
                            path = path.get(skipped + 1..).unwrap_or_default();
                            matched = true;
                        }
                        None if anywhere && !path.is_empty() => {
                            path = &[];
                            matched = false;
                        }
                        _ => return false,
                    }
                    anywhere = false;
                }
            }
        }
        matched && !(self.directories_only && path.is_empty())
    }
}

#[cfg(test)]
mod tests;
