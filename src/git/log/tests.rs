use super::*;
use crate::git::tests::{bare, clone, edit, identity};

#[test]
fn the_commits_that_changed_a_path_are_told_newest_first() {
    let (_directory, remote) = bare();
    let clone = clone(&remote);
    let mut tip = None;
    for (second, path) in ["prod/a", "stage/a", "prod/b", "stage/a", "prod/b"].into_iter().enumerate() {
        let second = i64::try_from(second).unwrap();
        let message = Message::new(format!("change {second}")).trailer("Release", "x").to_string();
        tip = clone
            .commit(tip, &edit(&[(path, &second.to_string())]), &message, &identity(second), None)
            .unwrap();
    }
    let tip = tip.unwrap();
    let seconds = |path: &str, most| {
        let log = clone.log(tip, path, most).unwrap();
        log.iter().map(|entry| entry.time.as_second()).collect::<Vec<_>>()
    };
    assert_eq!(seconds("prod", 10), [4, 2, 0]);
    assert_eq!(seconds("stage/a", 10), [3, 1]);
    assert_eq!(seconds("", 10), [4, 3, 2, 1, 0]);
    assert_eq!(seconds("", 2), [4, 3]);
    assert!(seconds("missing", 10).is_empty());
    let newest = clone.log(tip, "prod", 1).unwrap().remove(0);
    assert_eq!(newest.author, "Ann Example <ann@example.org>");
    assert_eq!(newest.message.subject, "change 4");
    assert_eq!(newest.message.value("Release"), Some("x"));
    assert!(clone.is_ancestor(newest.commit, tip).unwrap());
}
