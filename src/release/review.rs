//! What Flux, Helm and Cluster API refuse of a release that can be read: checked before it is published, because a
//! published release never changes. A release in use is not checked: it stays as usable as it was.

mod chart;
mod helmignore;
mod kustomization;
mod manifests;
mod metadata;
mod pointers;
mod shape;
mod text;
mod values_template;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::thread;

use super::files::{Files, Limits};
use super::finding::{Finding, Findings, Reason};
use super::{CLUSTER_ADDON, CLUSTER_CLASS, NODE_IMAGES, addons, stages};

pub(super) use pointers::check as check_pointers;

/// The stack for the review: each level of YAML takes much of it, and files for Flux and Helm may have many.
const STACK: usize = 64 << 20;

/// Reports what is refused of an unpacked release although [`Release::load`](super::Release::load) reads it.
pub(super) fn check(files: &Files, limits: &Limits, findings: &mut Findings) {
    let review = || {
        let mut found = Findings::default();
        check_here(files, limits, &mut found);
        found
    };
    findings.extend(on_large_stack(review).unwrap_or_else(|error| {
        let message = format!("the release cannot be checked: no memory for a thread ({error})");
        Finding::error(Reason::LimitExceeded, "", message).hint("try again").into()
    }));
}

/// Returns the first file of plain manifests in each of these directories that SOPS has encrypted.
pub(super) fn encrypted<'a>(files: &Files, directories: &BTreeSet<&'a str>) -> BTreeMap<&'a str, String> {
    let read = || {
        let found = |directory: &&'a str| Some((*directory, manifests::encrypted(files, directory)?));
        directories.iter().filter_map(found).collect()
    };
    // The review has reported that there is no memory.
    on_large_stack(read).unwrap_or_default()
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

fn check_here(files: &Files, limits: &Limits, findings: &mut Findings) {
    // What archives of charts hold together is limited.
    let limits = &mut limits.clone();
    pointers::check(files, findings);
    values_template::check(files, limits, findings);
    chart::check(files, CLUSTER_CLASS, limits, findings);
    if files.has_directory(NODE_IMAGES) {
        manifests::check(files, NODE_IMAGES, findings);
    }
    if files.get(stages::FILE).is_none() {
        chart::check(files, CLUSTER_ADDON, limits, findings);
        return;
    }
    let applied = stages::read_alone(files, limits, &mut Findings::default());
    let applied = applied.map(|hooks| addons::applied(&hooks)).unwrap_or_default();
    let mut objects = BTreeMap::new();
    for addon in files.directories(CLUSTER_ADDON) {
        let directory = format!("{CLUSTER_ADDON}/{addon}");
        if files.get(&format!("{directory}/Chart.yaml")).is_some() {
            chart::check(files, &directory, limits, findings);
        } else {
            let found = manifests::check(files, &directory, findings);
            if applied.iter().any(|name| name.as_str() == addon) {
                objects.insert(addon, found);
            }
        }
    }
    manifests::check_shared(files, &objects, findings);
}

#[cfg(test)]
mod tests;
