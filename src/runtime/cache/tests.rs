use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::*;

impl Cached for ConfigMap {
    fn index_keys(&self) -> Vec<String> {
        self.labels().values().cloned().collect()
    }
}

fn object(name: &str, version: &str, label: &str) -> ConfigMap {
    let metadata =
        json!({"name": name, "namespace": "n", "resourceVersion": version, "labels": {"l": label}});
    serde_json::from_value(json!({"metadata": metadata})).unwrap()
}

fn names(found: &[Arc<ConfigMap>]) -> Vec<String> {
    found
        .iter()
        .map(|object| format!("{}@{}", object.name_any(), object.resource_version().unwrap()))
        .collect()
}

/// Returns a cache after its first list.
fn listed(objects: &[ConfigMap]) -> Cache<ConfigMap> {
    let cache = Cache::default();
    list(&cache, objects);
    cache
}

fn list(cache: &Cache<ConfigMap>, objects: &[ConfigMap]) -> Vec<Change<ConfigMap>> {
    let all = objects.iter().cloned().map(Event::InitApply);
    std::iter::once(Event::Init)
        .chain(all)
        .chain([Event::InitDone])
        .flat_map(|event| cache.take(event))
        .collect()
}

#[test]
fn cache_is_synced_after_a_complete_list() {
    let cache = Cache::default();
    assert!(!cache.is_synced());
    cache.take(Event::Init);
    cache.take(Event::InitApply(object("a", "1", "x")));
    assert!(!cache.is_synced());
    cache.take(Event::InitDone);
    assert!(cache.is_synced());
}

#[test]
fn newer_state_wins_in_any_order() {
    let cache = listed(&[object("a", "9", "x")]);
    cache.written(object("a", "12", "y"));
    let changes = cache.take(Event::Apply(object("a", "10", "z")));
    assert_eq!(
        names(&[changes[0].now.clone().unwrap()]),
        ["a@12"],
        "our own write has what others wrote before it"
    );
    assert!(cache.take(Event::Apply(object("a", "12", "y"))).is_empty(), "our own write comes back");
    assert_eq!(names(&cache.all()), ["a@12"]);
    assert_eq!(cache.take(Event::Apply(object("a", "100", "z"))).len(), 1);
    assert!(list(&cache, &[object("a", "11", "x")]).is_empty(), "a stale list");
    assert_eq!(names(&cache.all()), ["a@100"]);
}

#[test]
fn list_removes_missing_objects() {
    let cache = listed(&[object("a", "1", "x"), object("b", "1", "x")]);
    let changes = list(&cache, &[object("b", "1", "x")]);
    assert_eq!(changes.len(), 1);
    assert!(changes[0].now.is_none());
    assert_eq!(names(&cache.all()), ["b@1"]);
}

#[test]
fn object_written_during_list_stays() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.written(object("new", "5", "x"));
    cache.take(Event::InitDone);
    assert_eq!(names(&cache.all()), ["new@5"]);
}

#[test]
fn late_write_answer_does_not_restore_deleted_object() {
    let cache = listed(&[object("a", "1", "x")]);
    assert_eq!(cache.take(Event::Delete(object("a", "3", "x"))).len(), 1);
    // The answer to a write that preceded the deletion.
    cache.written(object("a", "2", "x"));
    assert!(cache.all().is_empty() && cache.by_index("x").is_empty());
    list(&cache, &[object("a", "2", "x")]);
    assert!(cache.all().is_empty(), "the list is outdated");
    cache.take(Event::Apply(object("a", "4", "x")));
    assert_eq!(names(&cache.all()), ["a@4"], "another one of its name");
}

/// The object was deleted while the watch was disconnected, so no event says at which version.
#[test]
fn late_write_answer_does_not_restore_unlisted_object() {
    let with_uid = |uid: &str, version: &str| {
        let mut object = object("a", version, "x");
        object.metadata.uid = Some(uid.to_owned());
        object
    };
    let cache = listed(&[with_uid("u", "1")]);
    assert_eq!(list(&cache, &[]).len(), 1);
    cache.written(with_uid("u", "2"));
    assert!(cache.all().is_empty() && cache.by_index("x").is_empty(), "no event would remove it");
    cache.written(with_uid("another", "3"));
    assert_eq!(names(&cache.all()), ["a@3"], "another one of its name");
    list(&cache, &[]);
    cache.exists(&with_uid("another", "4"));
    cache.written(with_uid("another", "4"));
    assert_eq!(names(&cache.all()), ["a@4"], "the API server has it: the list was wrong");
    list(&cache, &[]);
    cache.take(Event::Apply(with_uid("another", "5")));
    cache.remove(&Key::new("n", "a"), Some("another"));
    cache.written(with_uid("another", "6"));
    assert_eq!(names(&cache.all()), ["a@6"], "the watch has it");
}

/// The answer to the removal of the last finalizer comes before the events of the states before it.
#[test]
fn late_event_does_not_restore_an_ended_object() {
    let cache = listed(&[object("a", "1", "x")]);
    cache.ended(&object("a", "4", "x"));
    for version in ["2", "3", "4"] {
        assert_eq!(cache.take(Event::Apply(object("a", version, "x"))).len(), 0, "{version}");
    }
    cache.take(Event::Delete(object("a", "5", "x")));
    assert!(cache.all().is_empty());
    cache.take(Event::Apply(object("a", "6", "x")));
    assert_eq!(names(&cache.all()), ["a@6"], "another one of its name");
    cache.remove(&Key::new("n", "a"), None);
    cache.take(Event::Apply(object("a", "6", "x")));
    assert!(cache.all().is_empty(), "its state of before");
    cache.take(Event::Apply(object("a", "7", "x")));
    assert_eq!(names(&cache.all()), ["a@7"]);
}

/// The API server answered before it created another object of the name, and the watch reported that one first.
#[test]
fn late_answer_removes_no_object_of_later() {
    let key = Key::new("n", "a");
    let with_uid = |uid: &str, version: &str| {
        let mut object = object("a", version, "x");
        object.metadata.uid = Some(uid.to_owned());
        object
    };
    let cache = listed(&[]);
    let mut late = cache.late().unwrap();
    let before = cache.uid(&key);
    cache.take(Event::Apply(with_uid("one", "3")));
    cache.missing(&key, before.as_deref());
    assert_eq!(names(&cache.all()), ["a@3"], "a fetch of an object that did not exist yet");
    cache.take(Event::Delete(with_uid("one", "4")));
    cache.take(Event::Apply(with_uid("two", "5")));
    cache.remove(&key, Some("one"));
    cache.ended(&with_uid("one", "4"));
    assert_eq!(names(&cache.all()), ["a@5"], "a write of the object of before");
    assert_eq!(cache.take(Event::Apply(with_uid("two", "6"))).len(), 1, "its events still count");
    let before = cache.uid(&key);
    cache.missing(&key, before.as_deref());
    assert!(cache.all().is_empty() && late_changes_count(&mut late) == 1, "a fetch of this one");
}

#[test]
fn late_deletion_answer_restores_no_missing_object() {
    let mut terminating = object("a", "2", "x");
    terminating.metadata.deletion_timestamp =
        Some(serde_json::from_value(json!("2026-11-23T10:00:00Z")).unwrap());
    let cache = listed(&[object("a", "1", "x")]);
    assert_eq!(list(&cache, &[]).len(), 1);
    cache.written(terminating.clone());
    assert!(cache.all().is_empty(), "the answer came after the list");
    let cache = listed(&[object("a", "1", "x")]);
    cache.take(Event::Init);
    cache.written(terminating);
    assert_eq!(cache.take(Event::InitDone).len(), 1, "the answer came during the list");
    assert!(cache.all().is_empty());
}

#[test]
fn outdated_list_restores_no_deleted_object() {
    let cache = listed(&[object("a", "1", "x"), object("b", "2", "x")]);
    cache.take(Event::Delete(object("a", "7", "x")));
    let changes = list(&cache, &[object("a", "1", "x"), object("b", "2", "x")]);
    assert!(changes.is_empty() && cache.get(&Key::new("n", "a")).is_none());
    list(&cache, &[object("a", "8", "x")]);
    assert_eq!(names(&cache.all()), ["a@8"], "created again");
}

#[test]
fn foreign_change_hidden_by_a_list_is_reported() {
    let cache = listed(&[object("a", "1", "x")]);
    // The answer to a write of the operator contains version 2, which another client wrote.
    cache.written(object("a", "3", "y"));
    let changes = list(&cache, &[object("a", "3", "y")]);
    assert_eq!(names(&[changes[0].now.clone().unwrap()]), ["a@3"]);
    assert!(list(&cache, &[object("a", "3", "y")]).is_empty(), "once");
}

#[test]
fn index_keys_follow_the_object() {
    let cache = listed(&[object("a", "1", "x"), object("b", "1", "x")]);
    assert_eq!(names(&cache.by_index("x")), ["a@1", "b@1"]);
    cache.take(Event::Apply(object("a", "2", "y")));
    assert_eq!(
        (names(&cache.by_index("x")), names(&cache.by_index("y"))),
        (vec!["b@1".into()], vec!["a@2".into()])
    );
    assert!(cache.has_index_key("y"));
    cache.remove(&Key::new("n", "a"), None);
    assert!(cache.by_index("y").is_empty() && !cache.has_index_key("y"));
}

fn late_changes_count(late: &mut UnboundedReceiver<Change<ConfigMap>>) -> usize {
    std::iter::from_fn(|| late.try_recv().ok()).count()
}

/// Returns the changes that were withheld and are emitted now.
fn late_changes(late: &mut UnboundedReceiver<Change<ConfigMap>>) -> Vec<String> {
    std::iter::from_fn(|| late.try_recv().ok())
        .map(|change| names(&[change.before.unwrap(), change.now.unwrap()]).join(" "))
        .collect()
}

#[test]
fn own_write_seen_first_by_watch_is_not_reported() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    let writing = cache.writing(&Key::new("n", "a"));
    assert!(cache.take(Event::Apply(object("a", "2", "y"))).is_empty());
    assert_eq!(names(&cache.by_index("y")), ["a@2"], "it is known at once");
    cache.written(object("a", "2", "y"));
    drop(writing);
    assert!(late_changes(&mut late).is_empty());
}

#[test]
fn foreign_change_during_write_is_reported_after_it() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    let key = Key::new("n", "a");
    let writing = cache.writing(&key);
    cache.take(Event::Apply(object("a", "2", "ours")));
    cache.take(Event::Apply(object("a", "3", "theirs")));
    cache.written(object("a", "2", "ours"));
    assert!(late_changes(&mut late).is_empty());
    drop(writing);
    assert_eq!(late_changes(&mut late), ["a@2 a@3"]);
    assert_eq!(cache.take(Event::Apply(object("a", "4", "x"))).len(), 1, "nothing is kept back any more");
}

#[test]
fn foreign_write_before_ours_is_reported() {
    for watch_is_faster in [true, false] {
        let cache = listed(&[object("a", "1", "x")]);
        let mut late = cache.late().unwrap();
        let writing = cache.writing(&Key::new("n", "a"));
        let events = || [("2", "theirs"), ("3", "ours")].map(|(version, label)| object("a", version, label));
        let mut changes = Vec::new();
        if watch_is_faster {
            changes.extend(events().into_iter().flat_map(|object| cache.take(Event::Apply(object))));
        }
        cache.written(object("a", "3", "ours"));
        drop(writing);
        if !watch_is_faster {
            changes.extend(events().into_iter().flat_map(|object| cache.take(Event::Apply(object))));
        }
        let late = std::iter::from_fn(|| late.try_recv().ok());
        let changes: Vec<_> = changes.into_iter().chain(late).map(|change| change.now.unwrap()).collect();
        assert_eq!(names(&changes), ["a@3"], "once, and not our own write (watch faster: {watch_is_faster})");
    }
}

#[test]
fn consecutive_own_writes_are_not_reported() {
    let cache = listed(&[object("a", "1", "x")]);
    for version in ["2", "3", "4"] {
        cache.written(object("a", version, "ours"));
    }
    for version in ["2", "3", "4"] {
        assert!(cache.take(Event::Apply(object("a", version, "ours"))).is_empty(), "{version}");
    }
    // A list may be older than the last write, and then reports no change.
    cache.written(object("a", "5", "ours"));
    assert!(list(&cache, &[object("a", "4", "ours")]).is_empty());
}

#[test]
fn failed_write_withholds_no_event() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    let key = Key::new("n", "a");
    let (one, other) = (cache.writing(&key), cache.writing(&key));
    cache.take(Event::Apply(object("a", "2", "theirs")));
    drop(one);
    assert!(late_changes(&mut late).is_empty(), "another write is under way");
    drop(other);
    assert_eq!(late_changes(&mut late), ["a@1 a@2"]);
}

#[test]
fn fetched_state_is_reported_to_all_readers() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    cache.fetched(object("a", "2", "theirs"));
    assert_eq!(late_changes(&mut late), ["a@1 a@2"], "the watch is late");
    assert!(cache.take(Event::Apply(object("a", "2", "theirs"))).is_empty(), "once");
    cache.fetched(object("a", "2", "theirs"));
    assert!(late_changes(&mut late).is_empty(), "nothing new");
    let writing = cache.writing(&Key::new("n", "a"));
    cache.take(Event::Apply(object("a", "3", "theirs")));
    cache.fetched(object("a", "3", "theirs"));
    drop(writing);
    assert_eq!(late_changes(&mut late), ["a@2 a@3"], "our write conflicted with what the watch reports");
    cache.missing(&Key::new("n", "a"), None);
    let gone = late.try_recv().unwrap();
    assert!(gone.before.is_some() && gone.now.is_none() && cache.all().is_empty());
}

#[test]
fn fetched_state_from_before_a_deletion_is_not_stored() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    cache.take(Event::Delete(object("a", "3", "x")));
    cache.fetched(object("a", "2", "x"));
    assert!(cache.all().is_empty() && late.try_recv().is_err(), "no event would remove it");
    let mut terminating = object("b", "4", "x");
    terminating.metadata.deletion_timestamp =
        Some(serde_json::from_value(json!("2026-11-23T10:00:00Z")).unwrap());
    cache.fetched(terminating);
    assert!(cache.all().is_empty() && late.try_recv().is_err(), "the watch may not select it");
}

#[test]
fn deletion_is_reported_at_once() {
    let cache = listed(&[object("a", "1", "x")]);
    let mut late = cache.late().unwrap();
    let writing = cache.writing(&Key::new("n", "a"));
    cache.take(Event::Apply(object("a", "2", "y")));
    assert_eq!(cache.take(Event::Delete(object("a", "3", "y"))).len(), 1);
    drop(writing);
    assert!(late_changes(&mut late).is_empty());
}
