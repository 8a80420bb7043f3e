use super::*;

fn file() -> File {
    File { content: b"x".to_vec(), executable: false }
}

#[test]
fn paths_are_plain_and_relative() {
    let cases = [
        ("/etc/passwd", PathError::Absolute),
        ("..", PathError::Parent),
        ("a/../b", PathError::Parent),
        ("a\\..\\b", PathError::Parent),
        ("", PathError::NotPlain),
        ("a//b", PathError::NotPlain),
        ("a/", PathError::NotPlain),
        ("./a", PathError::NotPlain),
        ("a\\b", PathError::NotPlain),
        ("a\nb", PathError::NotPlain),
        ("a\0b", PathError::NotPlain),
    ];
    for (path, error) in cases {
        let mut files = Files::default();
        assert_eq!(files.insert(path, file()), Err(error.clone()), "{path:?}");
        assert_eq!(files.insert_link(path, "x"), Err(error.clone()), "{path:?}");
        assert_eq!(files.insert_ignored(path), Err(error), "{path:?}");
        assert!(files.is_empty());
    }
    let mut files = Files::default();
    assert_eq!(files.insert(&"a".repeat(1025), file()), Err(PathError::TooLong));
    assert_eq!(files.insert(&format!("{}a", "a/".repeat(64)), file()), Err(PathError::TooLong));
    files.insert("a/..b/c d/é", file()).unwrap();
    assert_eq!((files.len(), files.size()), (1, 1));
}

#[test]
fn path_cannot_be_file_and_directory() {
    let mut files = Files::default();
    files.insert("a/b", file()).unwrap();
    for path in ["a/b", "a", "a/b/c"] {
        assert_eq!(files.insert(path, file()), Err(PathError::Taken), "{path}");
        assert_eq!(files.insert_link(path, "x"), Err(PathError::Taken), "{path}");
        assert_eq!(files.insert_ignored(path), Err(PathError::Taken), "{path}");
    }
    files.insert_link("l/m", "x").unwrap();
    files.insert_ignored("i/j").unwrap();
    for path in ["l/m", "l", "l/m/n", "i/j", "i", "i/j/k"] {
        assert_eq!(files.insert(path, file()), Err(PathError::Taken), "{path}");
    }
    files.insert("a/b.c", file()).unwrap();
    files.insert("a-b", file()).unwrap();
}

#[test]
fn files_below_a_directory_are_listed() {
    let mut files = Files::default();
    for path in ["a/x", "a/b/y", "a-b/z", "a.b", "ab/q", "c"] {
        files.insert(path, file()).unwrap();
    }
    let below: Vec<_> = files.below("a").map(|(path, _)| path).collect();
    assert_eq!(below, ["b/y", "x"]);
    assert_eq!(files.below("").count(), 6);
    assert!(files.has_directory("a/b") && !files.has_directory("c") && !files.has_directory("a/x"));
    assert_eq!(files.directories("").into_iter().collect::<Vec<_>>(), ["a", "a-b", "ab"]);
}

#[test]
fn differences_are_files_and_links() {
    let mut left = Files::default();
    let mut right = Files::default();
    left.insert("same", file()).unwrap();
    right.insert("same", file()).unwrap();
    left.insert("content", file()).unwrap();
    right.insert("content", File { content: Vec::new(), ..file() }).unwrap();
    left.insert("mode", file()).unwrap();
    right.insert("mode", File { executable: true, ..file() }).unwrap();
    left.insert("left", file()).unwrap();
    right.insert("right", file()).unwrap();
    left.insert_link("link", "a").unwrap();
    left.insert_ignored("logo.png").unwrap();
    assert_eq!(left.differences(&right), ["content", "left", "link", "mode", "right"]);
    assert_eq!(left.differences(&left.clone()), Vec::<String>::new());
}

#[test]
fn common_root_directory_is_stripped() {
    let mut files = Files::default();
    files.insert("top/a", file()).unwrap();
    files.insert_link("top/l", "a").unwrap();
    let off = files.clone().without_directory("top");
    assert!(off.get("a").is_some() && off.links().next() == Some(("l", "a")));
    files.insert("other", file()).unwrap();
    assert_eq!(files.clone().without_directory("top"), files);
}

#[test]
fn path_names_end_at_255_bytes() {
    let longest = "é".repeat(127) + "x";
    let mut files = Files::default();
    files.insert(&format!("a/{longest}/b"), file()).unwrap();
    for path in [format!("a/{longest}y"), format!("a/{longest}y/b"), "x".repeat(256)] {
        assert_eq!(files.insert(&path, file()), Err(PathError::NameTooLong), "{path}");
    }
}

#[test]
fn equivalents_of_git_directory_are_recognized() {
    for name in [
        ".GIT",
        ".git.",
        ".git ",
        ".git::$INDEX_ALLOCATION",
        "git~1",
        "GIT~1 .",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".Gi\u{202e}T\u{206f}",
        "git\u{200d}~1",
    ] {
        assert_eq!(check_path(&format!("a/{name}/b")), Err(PathError::Git), "{name:?}");
    }
    for name in [".git", ".github", ".gitignore", "git", "git~2", "g\u{200b}it", ".g\u{e9}it"] {
        assert_eq!(check_path(&format!("a/{name}")), Ok(()), "{name:?}");
    }
}
