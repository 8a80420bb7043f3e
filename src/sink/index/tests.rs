//! Valid and invalid indexes.

use super::*;

fn parse(files: &str) -> Result<Index, IndexError> {
    Index::parse(format!("version: 1\nkustomization: abc\n{files}").as_bytes())
}

#[test]
fn index_round_trips() {
    let entry = Entry {
        object: "HelmRelease demo/one.ccm".to_owned(),
        sha256: "0".repeat(64),
        cluster_stacks: BTreeMap::from([("demo/docker-demo-1-34".to_owned(), "0".repeat(64))]),
    };
    let mut index = Index { kustomization: "1".repeat(64), ..Index::default() };
    index.files.insert("demo/helmrelease-one.ccm.yaml".to_owned(), entry);
    index.directories.insert("clusters/demo/one".to_owned(), BTreeSet::from(["demo/a".to_owned()]));
    let text = index.to_text();
    assert_eq!(Index::parse(text.as_bytes()).unwrap(), index);
    assert_eq!(Index::parse(text.as_bytes()).unwrap().to_text(), text);
}

#[test]
fn path_outside_the_directory_is_refused() {
    let entry = "{object: x, sha256: x, clusterStacks: {}}";
    for path in [
        "../one.yaml",
        "/etc/one.yaml",
        "a/../../one.yaml",
        "a//one.yaml",
        "./one.yaml",
        "a/./one.yaml",
        "a\\\\..\\\\one.yaml",
        "one.yaml\\n",
        ".git/one.yaml",
        "a/.GIT/one.yaml",
        "kustomization.yaml",
        "stackflux.index",
        "README.md",
        "",
    ] {
        let refused = parse(&format!("files: {{\"{path}\": {entry}}}\n"));
        assert!(matches!(refused, Err(IndexError::Path(_))), "{path:?}: {refused:?}");
    }
    assert!(is_plain(&"a".repeat(1024)) && !is_plain(&"a".repeat(1025)));
    for path in [
        "..",
        "clusters/demo",
        "clusters/../one",
        "clusters/demo/..",
        "clusters/Demo/one",
        "sources/",
        "x",
        "",
    ] {
        let refused = parse(&format!("directories: {{\"{path}\": []}}\n"));
        assert!(matches!(refused, Err(IndexError::Path(_))), "{path:?}: {refused:?}");
    }
}

#[test]
fn foreign_index_is_refused() {
    let mut large = b"version: 1\nkustomization: abc\n".to_vec();
    large.resize(100_000_000, b'#');
    assert!(matches!(Index::parse(&large), Err(IndexError::TooLarge)));
    assert!(matches!(Index::parse(b"\xff"), Err(IndexError::NotText)));
    let later = Index::parse(b"version: 7\nkustomization: abc\n");
    assert!(matches!(later, Err(IndexError::Version(7))), "{later:?}");
    let later = Index::parse(b"version: 2\nnew: {field: 1}\nfiles: []\n");
    assert!(matches!(later, Err(IndexError::Version(2))), "{later:?}");
    for text in [
        "",
        "version: 1",
        "[]",
        "version: 1\nkustomization: abc\nmore: 1\n",
        "version: 1\nkustomization: abc\nkustomization: abc\n",
        "version: 1\nkustomization: &a abc\nfiles: {x.yaml: *a}\n",
        "<<<<<<< HEAD\nversion: 1\n",
    ] {
        let refused = Index::parse(text.as_bytes());
        let Err(IndexError::Malformed(what)) = refused else { panic!("{text:?}: {refused:?}") };
        assert!(!what.contains('\n') && !what.is_empty(), "{what}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Index::parse(deep.as_bytes()).is_err());
}
