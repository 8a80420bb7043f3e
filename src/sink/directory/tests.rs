//! A directory whose paths lead elsewhere.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

#[test]
fn links_and_directories_are_no_files() {
    let root = TempDir::new().unwrap();
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("one.yaml"), "secret").unwrap();
    fs::create_dir(root.path().join("sources")).unwrap();
    symlink(elsewhere.path(), root.path().join("clusters")).unwrap();
    symlink(elsewhere.path().join("one.yaml"), root.path().join("sources/one.yaml")).unwrap();
    fs::write(root.path().join("file"), "text").unwrap();
    let directory = Directory::new(root.path());
    let read = |path| directory.read(path, 4).unwrap();
    assert_eq!(read("file"), Found::File(b"text".to_vec()));
    assert_eq!(directory.read("file", 3).unwrap(), Found::TooLarge);
    assert_eq!(read("nothing/at/all"), Found::Nothing);
    assert_eq!(read("sources"), Found::Other("a directory"));
    assert_eq!(read("sources/one.yaml"), Found::Other("a link or a device"));
    assert_eq!(read("clusters/one.yaml"), Found::Other("below a link or a file"));
    assert_eq!(read("file/one.yaml"), Found::Other("below a link or a file"));
}

#[test]
fn file_is_replaced_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = TempDir::new().unwrap();
    let file = root.path().join("a/one.yaml");
    let directory = Directory::new(root.path());
    directory.write("a/one.yaml", b"old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let open = fs::File::open(&file).unwrap();
    // What a killed process left.
    fs::write(root.path().join("a").join(UNFINISHED), "hal").unwrap();
    directory.write("a/one.yaml", b"new").unwrap();
    let mut old = String::new();
    (&open).read_to_string(&mut old).unwrap();
    assert_eq!((old.as_str(), fs::read(&file).unwrap().as_slice()), ("old", &b"new"[..]));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
}

#[test]
fn failed_write_leaves_the_old_file() {
    let root = TempDir::new().unwrap();
    let directory = Directory::new(root.path());
    fs::create_dir_all(root.path().join("one.yaml/below")).unwrap();
    directory.write("one.yaml", b"new").unwrap_err();
    assert!(root.path().join("one.yaml/below").is_dir());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}
