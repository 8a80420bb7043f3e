use std::time::SystemTime;

use super::*;

const PREFIX: &str = "stackflux-test-";

/// Creates a directory as a process left it, `ago` before now.
fn left(parent: &Path, name: &str, ago: Duration, with_lock: bool) -> PathBuf {
    let path = parent.join(name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("pack"), "secret").unwrap();
    if with_lock {
        fs::write(path.join(LOCK), "").unwrap();
    }
    File::open(&path).unwrap().set_modified(SystemTime::now() - ago).unwrap();
    path
}

#[test]
fn directory_is_private_and_removed_on_drop() {
    let parent = tempfile::tempdir().unwrap();
    let temporary = Temporary::new_in(parent.path(), PREFIX).unwrap();
    let path = temporary.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    assert!(pending().contains(&path));
    drop(temporary);
    assert!(!path.exists() && !pending().contains(&path));
}

#[test]
fn moved_path_stays() {
    let parent = tempfile::tempdir().unwrap();
    let (beside, path) = (parent.path().join("beside"), parent.path().join("path"));
    fs::create_dir(&beside).unwrap();
    RemoveOnDrop::new(beside.clone()).move_to(&path).unwrap();
    assert!(path.exists() && !pending().contains(&beside));
    fs::create_dir(&beside).unwrap();
    RemoveOnDrop::new(beside.clone()).move_to(&parent.path().join("missing/path")).unwrap_err();
    assert!(!beside.exists(), "what cannot be moved is removed");
}

#[test]
fn ignored_signal_stays_ignored() {
    let status =
        |mask: &str| format!("SigBlk:\t0000000000000000\nSigIgn:\t{mask}\nSigCgt:\t0000000000004003\n");
    let signals = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
    for (mask, expected) in [
        ("0000000000001000", [false; 3]),
        ("0000000000000001", [true, false, false]),
        ("0000000000000003", [true, true, false]),
        ("0000000000004000", [false, false, true]),
        ("no mask", [false; 3]),
    ] {
        assert_eq!(signals.map(|signal| is_ignored(signal, &status(mask))), expected, "{mask}");
    }
    assert!(!is_ignored(SignalKind::hangup(), ""), "not on Linux");
}

#[test]
fn leftovers_of_dead_processes_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path();
    let old = ABANDONED * 2;
    let dead = left(parent, "stackflux-test-dead", old, true);
    let young = left(parent, "stackflux-test-young", Duration::ZERO, true);
    let unlocked = left(parent, "stackflux-test-unlocked", old, false);
    let other = left(parent, "other", old, true);
    let alive = left(parent, "stackflux-test-alive", old, true);
    let lock = File::open(alive.join(LOCK)).unwrap();
    lock.lock().unwrap();
    std::os::unix::fs::symlink(&other, parent.join("stackflux-test-link")).unwrap();
    let _temporary = Temporary::new_in(parent, PREFIX).unwrap();
    assert!(!dead.exists());
    for stays in [young, unlocked, other.join("pack"), alive, parent.join("stackflux-test-link")] {
        assert!(stays.exists(), "{}", stays.display());
    }
}
