//! Brings releases into a built-in stack repository, which the operator serves itself.

use super::existing::Existing;
use super::{Prepared, PublishError, Published};
use crate::git::{CommitId, ServedRepository};

/// Adds a release, unless the repository has one of its name: a release that Flux may have seen never changes. Returns its
/// commit.
///
/// # Errors
/// The release has errors, as for every stack repository, or the repository cannot be written.
pub fn publish(
    repository: &ServedRepository,
    prepared: &Prepared,
) -> Result<Published<CommitId>, PublishError> {
    if repository.releases()?.contains_key(prepared.name()) {
        // The process may have ended after the release was added.
        repository.merge()?;
        return Ok(Published::Unchanged);
    }
    // It has no `.sourceignore` above the releases, and no holds.
    Existing::default().needs(prepared, false)?;
    let commit = repository.add(prepared.name(), &prepared.files)?;
    repository.merge()?;
    Ok(Published::Written(commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::root_commit;
    use crate::publish::tests::{NAME, files, prepare, with};

    #[test]
    fn release_is_added_once_and_never_changes() {
        let directory = tempfile::tempdir().unwrap();
        let repository = ServedRepository::open(&directory.path().join("served")).unwrap();
        let prepared = prepare(NAME, files(NAME));
        let commit = root_commit(prepared.name(), &prepared.files);
        let Published::Written(written) = publish(&repository, &prepared).unwrap() else { panic!() };
        assert_eq!(written.to_string(), commit.as_str());
        let main = repository.main().unwrap();
        assert!(main.is_some());
        let changed = prepare(NAME, with(files(NAME), "cluster-addon/policies/more.yaml", "kind: List\n"));
        assert_eq!(publish(&repository, &changed).unwrap(), Published::Unchanged);
        assert_eq!(repository.main().unwrap(), main);
    }

    #[test]
    fn release_that_was_added_before_the_process_ended_is_merged() {
        let directory = tempfile::tempdir().unwrap();
        let repository = ServedRepository::open(&directory.path().join("served")).unwrap();
        let prepared = prepare(NAME, files(NAME));
        repository.add(prepared.name(), &prepared.files).unwrap();
        assert_eq!(repository.main().unwrap(), None);
        assert_eq!(publish(&repository, &prepared).unwrap(), Published::Unchanged);
        assert!(repository.main().unwrap().is_some());
    }

    #[test]
    fn release_with_errors_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let repository = ServedRepository::open(&directory.path().join("served")).unwrap();
        let broken = prepare(NAME, with(files(NAME), "cluster-addon/policies/more.yaml", "a: [\n"));
        let error = publish(&repository, &broken).unwrap_err();
        assert!(matches!(error, PublishError::Unusable { .. }), "{error}");
        assert_eq!((repository.releases().unwrap().len(), repository.main().unwrap()), (0, None));
    }
}
