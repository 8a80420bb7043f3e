//! Properties of all deliveries and edits.

use proptest::prelude::*;

use super::*;

/// Whether every list matches its index, and every file in an index exists.
fn is_consistent(files: &Files) -> bool {
    let root = Index::parse(&files[INDEX]).unwrap();
    let parts = root.directories.keys().all(|part| {
        let index = Index::parse(&files[&format!("{part}/{INDEX}")]).unwrap();
        let there = index.files.keys().all(|file| files.contains_key(&format!("{part}/{file}")));
        there && list(files, &format!("{part}/")).iter().eq(index.files.keys())
    });
    parts && list(files, "").iter().eq(root.directories.keys())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No edited file is written or removed, and all other files are as without the edits, or as before.
    #[test]
    fn edited_file_is_never_changed(
        edited in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        clusters in prop::sample::subsequence(vec!["one", "two", "three"], 0..=3),
        version in prop::sample::select(vec!["v1", "v2"]),
    ) {
        let fixture = Fixture::new();
        let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
        let paths: Vec<String> = files.keys().filter(|path| !path.ends_with(INDEX)).cloned().collect();
        let edited: BTreeSet<&String> = edited.iter().map(|index| index.get(&paths)).collect();
        for path in &edited {
            edit(&mut files, path);
        }
        let before = files.clone();
        let plan = fixture.plan(version, &clusters);
        let changes = deliver(&mut files, &delivery(&plan));
        for path in &edited {
            prop_assert_eq!(files.get(*path), before.get(*path), "{}", path);
        }
        prop_assert!(!changes.refused.is_empty());
        let is_list = |path: &&String| path.ends_with(KUSTOMIZATION);
        prop_assert!(edited.iter().any(is_list) || is_consistent(&files));
        let again = update(&files, &delivery(&plan)).unwrap();
        prop_assert!(again.writes.keys().all(|path| path.starts_with("cluster-class/") || !path.contains('/')));
    }

    /// In every reachable state, repeating a delivery changes nothing, and the order in which the plan was built does not
    /// matter. A namespace with Helm's release record is removed one update after the object of the record.
    #[test]
    fn repeated_update_changes_nothing(
        history in prop::collection::vec((prop::sample::select(vec!["v1", "v2"]), prop::sample::subsequence(vec!["one", "two", "three"], 0..=3)), 1..4),
        limit in prop::sample::select(vec![Limit::All, Limit::Tenth, Limit::Left(2)]),
    ) {
        let fixture = Fixture::new();
        let mut files = Files::new();
        for (version, clusters) in &history {
            let plan = fixture.plan(version, clusters);
            deliver(&mut files, &Delivery { budget: Budget { limit, allowed: None }, ..delivery(&plan) });
        }
        let (version, clusters) = history.last().unwrap();
        let plan = fixture.plan(version, clusters);
        let again = Delivery { budget: Budget { limit: Limit::All, allowed: None }, ..delivery(&plan) };
        deliver(&mut files, &again);
        let changes = deliver(&mut files, &again);
        let is_namespace = |path: &String| path.starts_with("cluster-class/") || !path.contains('/');
        prop_assert!(changes.writes.keys().chain(&changes.removes).all(is_namespace), "{changes:?}");
        prop_assert!(deliver(&mut files, &again).is_empty());
        let mut permuted = Plan::default();
        for name in clusters.iter().rev() {
            permuted.merge(fixture.plan(version, &[name])).unwrap();
        }
        permuted.merge(fixture.plan(version, &[])).unwrap();
        prop_assert_eq!(&files, &delivered(&permuted));
        prop_assert!(is_consistent(&files));
    }
}
