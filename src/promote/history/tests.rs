use std::collections::BTreeMap;

use super::{Cause, Change, entry};

fn directory(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect()
}

fn change(trailers: &[(&str, &str)], before: &[(&str, &str)], after: &[(&str, &str)]) -> Change {
    Change {
        commit: "abc".to_owned(),
        date: "2026-11-21T18:00:00Z".parse().unwrap(),
        author: "A <a@b>".to_owned(),
        subject: "Subject".to_owned(),
        trailers: trailers.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        before: directory(before),
        after: directory(after),
    }
}

fn is_release(name: &str) -> bool {
    name.starts_with('r')
}

#[test]
fn added_removed_and_changed_releases_are_reported() {
    let (before, after) = ([("r1", "a"), ("r2", "b"), ("r3", "c")], [("r2", "b"), ("r3", "d"), ("r4", "e")]);
    let entry = entry(&change(&[], &before, &after), is_release).unwrap();
    assert_eq!(
        (entry.added, entry.removed, entry.altered),
        (vec!["r4".into()], vec!["r1".into()], vec!["r3".into()])
    );
    assert_eq!(entry.cause, Cause::Other);
}

#[test]
fn unrelated_commit_is_not_listed() {
    assert_eq!(entry(&change(&[], &[("README", "a")], &[("README", "b")]), is_release), None);
    assert_eq!(entry(&change(&[], &[("r1", "a")], &[("r1", "a"), ("x", "b")]), is_release), None);
}

#[test]
fn cause_is_read_from_trailers() {
    let cause =
        |trailers: &[(&str, &str)]| entry(&change(trailers, &[], &[("r1", "a")]), is_release).unwrap().cause;
    let from = "stage@0123456789abcdef0123456789abcdef01234567";
    let promoted =
        cause(&[("Stackflux-Promote", "r1"), ("Stackflux-From", from), ("Stackflux-Soak", "3 clusters")]);
    assert_eq!(promoted, Cause::Promoted { from: from.to_owned(), soak: Some("3 clusters".to_owned()) });
    assert_eq!(promoted.words(), "promoted from stage@0123456789ab");
    assert_eq!(cause(&[("stackflux-rollback", "r1")]), Cause::RolledBack);
    let reason = cause(&[("Stackflux-Promote", "a reason says so"), ("Stackflux-Rollback", "r1")]);
    assert_eq!(reason, Cause::RolledBack);
    let published = cause(&[("Signed-off-by", "x"), ("Stackflux-Source", "oci://h/r:tag@sha256:00")]);
    assert_eq!(published.words(), "published from oci://h/r:tag@sha256:00");
    assert_eq!(cause(&[("Signed-off-by", "x")]), Cause::Other);
    let squashed = |subject: &str| {
        let change = Change { subject: subject.to_owned(), ..change(&[], &[], &[("r1", "a")]) };
        entry(&change, is_release).unwrap().cause.words()
    };
    assert_eq!(squashed("Promote r1 from stage to prod (#1)"), "promoted from stage");
    assert_eq!(squashed("Roll r1 back from prod (#2)"), "rolled back");
    assert_eq!(squashed("Promote the team"), "by hand");
}
