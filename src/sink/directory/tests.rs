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
