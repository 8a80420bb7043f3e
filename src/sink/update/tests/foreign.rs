//! Foreign edits, removals and additions.

use super::*;

#[test]
fn edited_file_is_refused_without_blocking_others() {
    let fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
    edit(&mut files, CNI);
    let before = files.clone();
    let plan = fixture.plan("v2", &["one", "two"]);
    let changes = deliver(&mut files, &delivery(&plan));
    assert_eq!(refusals(&changes), [format!("{CNI} was edited since stackflux wrote it")]);
    assert_eq!(below(&files, "clusters/stacks/one"), below(&before, "clusters/stacks/one"));
    let fresh = delivered(&plan);
    assert_eq!(below(&files, "clusters/stacks/two"), below(&fresh, "clusters/stacks/two"));
    let charts = |files: &Files| files.keys().filter(|path| path.contains("helmchart-cni-")).count();
    assert_eq!((charts(&files), charts(&fresh)), (2, 1), "the chart that the edited file names stays");

    let overwrite = Overwrite(BTreeSet::from(["clusters/stacks/one".to_owned()]));
    let changes = deliver(&mut files, &Delivery { overwrite, ..delivery(&plan) });
    assert!(changes.refused.is_empty());
    assert_eq!(files, fresh);
}

#[test]
fn edited_removed_cluster_keeps_its_class() {
    let fixture = Fixture::new();
    let mut files = delivered(&fixture.plan("v1", &["one", "two"]));
    edit(&mut files, CNI);
    let plan = fixture.plan("v2", &["two"]);
    let changes = deliver(&mut files, &delivery(&plan));
    assert_eq!(changes.withheld.unwrap().names, ["release docker-demo-1-34-v1"]);
    assert!(files.contains_key("cluster-class/stacks/helmrelease-docker-demo-1-34-v1.yaml"));
}

#[test]
fn edit_to_planned_content_is_accepted() {
    let fixture = Fixture::new();
    let (before, after) = (fixture.plan("v1", &["one"]), fixture.plan("v2", &["one"]));
    let (mut files, fresh) = (delivered(&before), delivered(&after));
    files.insert(CNI.to_owned(), fresh[CNI].clone());
    let changes = deliver(&mut files, &delivery(&after));
    assert!(changes.refused.is_empty());
    assert!(!changes.writes.contains_key(CNI));
    deliver(&mut files, &delivery(&after));
    assert_eq!(files, fresh);
}

#[test]
fn foreign_files_are_never_changed() {
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    let mut files = Files::new();
    files.insert(CNI.to_owned(), b"mine".to_vec());
    files.insert("clusters/stacks/two/mine.yaml".to_owned(), b"mine".to_vec());
    files.insert("README.md".to_owned(), b"mine".to_vec());
    let changes = deliver(&mut files, &delivery(&plan));
    assert_eq!(refusals(&changes), [format!("{CNI} already exists, but stackflux did not write it")]);
    assert_eq!(list(&files, ""), ["cluster-class", "clusters/stacks/two", "node-images", "sources"]);
    for path in [CNI, "clusters/stacks/two/mine.yaml", "README.md"] {
        assert_eq!(files[path], b"mine");
    }
}

/// A foreign change of the files.
type Foreign = fn(&mut Files);

#[test]
fn removed_or_damaged_file_requires_overwrite() {
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    let written = delivered(&plan);
    let cases: [(Foreign, &str); 5] = [
        (|files| _ = files.remove(CNI), "cni.yaml was removed since stackflux wrote it"),
        (|files| edit(files, "clusters/stacks/one/kustomization.yaml"), "kustomization.yaml was edited"),
        (
            |files| _ = files.remove("clusters/stacks/one/kustomization.yaml"),
            "kustomization.yaml was removed",
        ),
        (
            |files| {
                _ = files.insert("clusters/stacks/one/stackflux.index".to_owned(), b"version: 2\n".to_vec());
            },
            "stackflux.index is an invalid index",
        ),
        (
            |files| _ = files.insert(CNI.to_owned(), vec![b' '; MAX_FILE + 1]),
            "cni.yaml is larger than any file that stackflux writes",
        ),
    ];
    for (foreign, expected) in cases {
        let mut files = written.clone();
        foreign(&mut files);
        let before = files.clone();
        let changes = deliver(&mut files, &delivery(&plan));
        assert!(refusals(&changes)[0].contains(expected), "{:?} is not {expected:?}", refusals(&changes));
        assert_eq!(files, before);
        let overwrite = Overwrite(BTreeSet::from([".".to_owned()]));
        let changes = deliver(&mut files, &Delivery { overwrite, ..delivery(&plan) });
        assert_eq!((refusals(&changes), &files), (vec![], &written), "{expected}");
    }
}

#[test]
fn missing_sources_or_root_list_prevent_writes() {
    let fixture = Fixture::new();
    let written = delivered(&fixture.plan("v1", &["one"]));
    let plan = fixture.plan("v2", &["one", "two"]);
    let source = written.keys().find(|path| path.starts_with("sources/stacks/gitrepository-")).unwrap();
    for path in [source.as_str(), "sources/kustomization.yaml", KUSTOMIZATION] {
        let mut files = written.clone();
        edit(&mut files, path);
        let changes = deliver(&mut files, &delivery(&plan));
        assert_eq!(refusals(&changes), [format!("{path} was edited since stackflux wrote it")]);
        assert!(changes.is_empty(), "{path}");
    }
    // If the list does not change, its edit is only reported.
    let mut files = written.clone();
    edit(&mut files, KUSTOMIZATION);
    let plan = fixture.plan("v2", &["one"]);
    let changes = deliver(&mut files, &delivery(&plan));
    assert_eq!(refusals(&changes), ["kustomization.yaml was edited since stackflux wrote it"]);
    assert!(!changes.is_empty());
}

#[test]
fn lost_index_keeps_entries_of_other_stacks() {
    let fixture = Fixture::new();
    let (mine, theirs) = (fixture.plan("v1", &["one"]), fixture.plan("v1", &["two"]));
    let mut written = delivered(&mine);
    let other = Delivery { stack: "stacks/other".to_owned(), ..delivery(&theirs) };
    deliver(&mut written, &other);
    let plan = fixture.plan("v2", &["one", "three"]);
    for lost in [INDEX, "sources/stackflux.index", "cluster-class/stackflux.index"] {
        for index in [None, Some(b"<<<<<<<".to_vec())] {
            let mut files = written.clone();
            files.remove(lost);
            files.extend(index.map(|bytes| (lost.to_owned(), bytes)));
            let refused = update(&files, &delivery(&plan)).unwrap();
            let overwrite = || Overwrite(BTreeSet::from([".".to_owned()]));
            let changes = deliver(&mut files, &Delivery { overwrite: overwrite(), ..delivery(&plan) });
            assert!(!refused.refused.is_empty() || lost == INDEX);
            assert!(refusals(&changes).is_empty());
            assert!(list(&files, "").contains(&"clusters/stacks/two".to_owned()), "{lost}");
            for object in theirs.objects() {
                let (part, file) = place(object);
                assert!(list(&files, &format!("{part}/")).contains(&file), "{lost}: {part}/{file}");
            }
            let again = deliver(&mut files, &Delivery { overwrite: overwrite(), ..other.clone() });
            assert!(again.refused.is_empty() && again.objects.is_empty(), "{lost}: {:?}", again.objects);
        }
    }
}

#[test]
fn partly_written_files_are_ours() {
    let plan = Fixture::new().plan("v1", &["one", "two"]);
    let whole = delivered(&plan);
    // The first files of a delivery whose process was killed, the last of them cut off; the indexes come last.
    let (indexes, files): (Files, Files) =
        whole.clone().into_iter().partition(|(path, _)| path.ends_with(INDEX));
    assert!(!indexes.is_empty());
    for (number, (path, bytes)) in files.iter().enumerate() {
        for length in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut left: Files = files.clone().into_iter().take(number).collect();
            left.insert(path.clone(), bytes[..length].to_vec());
            let changes = deliver(&mut left, &delivery(&plan));
            assert_eq!(refusals(&changes), Vec::<String>::new(), "{path}: {length} bytes");
            assert_eq!(left, whole, "{path}: {length} bytes");
        }
    }
    for path in indexes.keys() {
        let mut left = whole.clone();
        left.insert(path.clone(), Vec::new());
        let changes = deliver(&mut left, &delivery(&plan));
        assert_eq!((refusals(&changes), &left), (Vec::new(), &whole), "{path} is empty");
    }
}
