use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::git::{Checkout, PinError};
use super::*;
use crate::git::ServedRepository;
use crate::release::{Digest, File, Reason};

const NAME: &str = "openstack-demo-1-34-v2";

/// A directory for one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stackflux-source-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(fs::canonicalize(path).unwrap())
    }

    fn write(&self, path: &str, content: &str) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn release(&self, at: &str) -> PathBuf {
        self.write(&format!("{at}/metadata.yaml"), "versions: {clusterStack: v2, kubernetes: v1.34.2}\n");
        self.write(&format!("{at}/cluster-class/Chart.yaml"), "name: class\nversion: v2\n");
        self.write(&format!("{at}/cluster-addon/Chart.yaml"), "name: addons\nversion: v1\n");
        self.0.join(at)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn paths(files: &Files) -> Vec<&str> {
    files.iter().map(|(path, _)| path).collect()
}

#[test]
fn directory_is_read_as_flux_packs_it() {
    let scratch = Scratch::new("flux");
    scratch.write("a/b.yaml", "x");
    scratch.write("logo.png", "x");
    scratch.write(".git/config", "x");
    scratch.write("a/.gitignore", "x");
    let run = scratch.write("run", "x");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/etc/passwd", scratch.0.join("link")).unwrap();
    fs::create_dir(scratch.0.join("empty")).unwrap();
    let files = directory::read(&scratch.0, &Limits::default()).unwrap();
    assert_eq!(paths(&files), ["a/b.yaml", "run"]);
    assert_eq!(files.ignored().collect::<Vec<_>>(), ["a/.gitignore", "logo.png"]);
    assert_eq!(files.links().collect::<Vec<_>>(), [("link", "/etc/passwd")]);
    assert!(files.get("run").unwrap().executable && !files.get("a/b.yaml").unwrap().executable);
}

#[test]
fn directory_with_ignore_file_is_filtered() {
    let scratch = Scratch::new("patterns");
    scratch.write(".sourceignore", "*.md\n");
    scratch.write("a/.sourceignore", "!keep.md\n");
    for path in ["x.md", "a/keep.md", "logo.png"] {
        scratch.write(path, "x");
    }
    let files = directory::read(&scratch.0, &Limits::default()).unwrap();
    assert_eq!(paths(&files), [".sourceignore", "a/.sourceignore", "a/keep.md", "logo.png"]);
    let unsorted = files.iter().fold(Files::default(), |mut all, (path, file)| {
        all.insert(path, file.clone()).unwrap();
        all
    });
    assert_eq!(unsorted.without_ignored().unwrap().iter().count(), 4, "the pure rules agree");
}

#[test]
fn directory_over_limits_is_refused() {
    let scratch = Scratch::new("limits");
    for name in ["a", "b", "c"] {
        scratch.write(name, "12345");
    }
    let read = |limits: Limits| match directory::read(&scratch.0, &limits) {
        Err(SourceError::Unusable { findings, .. }) => findings.to_string(),
        other => panic!("{other:?}"),
    };
    let hint = "\n  hint: remove what the release does not need, or split the file";
    let message =
        format!("error: LimitExceeded: c: with this file, the release exceeds the limit of 14 bytes{hint}");
    assert_eq!(read(Limits { unpacked: 14, ..Limits::default() }), message);
    let message = format!("error: LimitExceeded: the release exceeds the limit of 2 files{hint}");
    assert_eq!(read(Limits { entries: 2, ..Limits::default() }), message);
    assert!(directory::read(&scratch.0, &Limits { unpacked: 15, entries: 3, ..Limits::default() }).is_ok());
}

#[test]
fn special_files_and_non_utf8_names_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new("special");
    let _socket = std::os::unix::net::UnixListener::bind(scratch.0.join("s")).unwrap();
    fs::write(scratch.0.join(std::ffi::OsStr::from_bytes(b"a\xff")), "x").unwrap();
    let Err(SourceError::Unusable { findings, .. }) = directory::read(&scratch.0, &Limits::default()) else {
        panic!("it was read")
    };
    let reported: Vec<_> = findings.iter().map(|finding| (finding.reason, finding.file.as_str())).collect();
    assert_eq!(reported, [(Reason::InvalidPath, "a\u{fffd}"), (Reason::SpecialFile, "s")]);
}

#[test]
fn release_directory_is_opened_by_its_name() {
    let scratch = Scratch::new("release");
    let path = scratch.release(NAME);
    let Opened::Release(release) = open(&path, &Limits::default()).unwrap() else { panic!("a repository") };
    assert_eq!((release.name.to_string().as_str(), &release.path), (NAME, &path));
    assert!(release.load(&Limits::default()).unwrap().warnings.is_empty());
}

#[test]
fn release_directory_of_other_name_is_refused() {
    let scratch = Scratch::new("misnamed");
    let error = open(&scratch.release("openstack-scs-v5"), &Limits::default()).unwrap_err();
    assert_eq!((error.reason(), error.class()), ("InvalidName", Class::Terminal));
    let message = "openstack-scs-v5: \"openstack-scs-v5\" is not a release name: it has too few parts; expected \
                   <provider>-<stack>-<major>-<minor>-v<int>[-<channel>-<patch>]; the directory or archive of a \
                   release must have the release's name";
    assert!(error.to_string().ends_with(message), "{error}");
}

#[test]
fn archive_of_a_release_is_read() {
    let scratch = Scratch::new("archive");
    let unpacked = directory::read(&scratch.release(NAME), &Limits::default()).unwrap();
    for top in ["", "./", "openstack-demo-1-34-v2/"] {
        let mut builder =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, file) in unpacked.iter() {
            let mut header = tar::Header::new_ustar();
            header.set_size(file.content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, format!("{top}{path}"), file.content.as_slice()).unwrap();
        }
        let bytes = builder.into_inner().unwrap().finish().unwrap();
        let path = scratch.0.join(format!("{NAME}.tgz"));
        fs::write(&path, bytes).unwrap();
        let Opened::Release(release) = open(&path, &Limits::default()).unwrap() else {
            panic!("a repository")
        };
        assert_eq!(release.name.to_string(), NAME);
        assert_eq!(Digest::of(&release.files, ""), Digest::of(&unpacked, ""), "{top:?}");
    }
}

#[test]
fn stack_repository_is_read() {
    let scratch = Scratch::new("repository");
    for name in ["openstack-demo-1-34-v10", "openstack-demo-1-34-v2", "openstack-scs-v5", ".github"] {
        scratch.release(&format!("releases/{name}"));
    }
    scratch.write("releases/README.md", "x");
    for path in [scratch.0.clone(), scratch.0.join("releases")] {
        let Opened::Repository(repository) = open(&path, &Limits::default()).unwrap() else {
            panic!("a release")
        };
        let names: Vec<_> = repository.names().map(ToString::to_string).collect();
        assert_eq!(names, ["openstack-demo-1-34-v2", "openstack-demo-1-34-v10"]);
        assert_eq!(repository.malformed(), ["openstack-scs-v5"]);
        let release = repository.read(&NAME.parse().unwrap(), &Limits::default()).unwrap();
        assert!(release.load(&Limits::default()).is_ok());
        let error =
            repository.read(&"openstack-demo-1-34-v3".parse().unwrap(), &Limits::default()).unwrap_err();
        assert!(
            error.to_string().ends_with("releases: there is no release openstack-demo-1-34-v3"),
            "{error}"
        );
    }
}

#[test]
fn paths_without_release_are_refused() {
    let scratch = Scratch::new("nothing");
    scratch.write("x/y", "z");
    let error = open(&scratch.0, &Limits::default()).unwrap_err();
    assert_eq!(error.reason(), "ReleaseNotFound");
    let error = open(&scratch.0.join("missing"), &Limits::default()).unwrap_err();
    assert_eq!((error.reason(), error.class()), ("SourceUnreadable", Class::Transient));
    let broken = scratch.write(&format!("{NAME}.tgz"), "no archive");
    assert_eq!(open(&broken, &Limits::default()).unwrap_err().reason(), "InvalidArchive");
}

/// A stack repository in Git.
struct Repository(Scratch, git2::Repository);

impl Repository {
    fn new(test: &str) -> Self {
        let scratch = Scratch::new(test);
        let repository = git2::Repository::init(&scratch.0).unwrap();
        Self(scratch, repository)
    }

    /// Commits everything on HEAD, with additional parents.
    fn commit(&self, more_parents: &[git2::Oid]) -> git2::Oid {
        let mut index = self.1.index().unwrap();
        index.add_all(["*"], git2::IndexAddOption::FORCE, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
        let tree = self.1.find_tree(index.write_tree().unwrap()).unwrap();
        let head = self.1.head().ok().and_then(|head| head.target());
        let parents: Vec<_> =
            head.iter().chain(more_parents).map(|id| self.1.find_commit(*id).unwrap()).collect();
        let who = git2::Signature::new("Test", "test@example.com", &git2::Time::new(0, 0)).unwrap();
        self.1.commit(Some("HEAD"), &who, &who, "x", &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
    }
}

/// Checks that the work tree of a release is committed.
fn check(release: &Path) -> Result<(), PinError> {
    Checkout::of(release)?.check_committed(&directory::read(release, &Limits::default()).unwrap())
}

#[test]
fn pin_is_the_last_change_of_the_release() {
    let repository = Repository::new("pin");
    let release = repository.0.release(&format!("releases/{NAME}"));
    repository.commit(&[]);
    repository.0.write(&format!("releases/{NAME}/cluster-addon/values.yaml"), "a: 1\n");
    let changed = repository.commit(&[]);
    repository.0.release("releases/openstack-demo-1-34-v3");
    repository.commit(&[]);
    let pin = Checkout::of(&release).unwrap().pin().unwrap();
    assert_eq!(pin.revision, changed.to_string());
    assert_eq!(pin.path, format!("releases/{NAME}"));
    assert!(!pin.cut_off);
}

#[test]
fn merge_that_added_release_is_its_pin() {
    let repository = Repository::new("merge");
    repository.0.write("README.md", "x");
    let base = repository.commit(&[]);
    let release = repository.0.release(&format!("releases/{NAME}"));
    let side = repository.commit(&[]);
    repository
        .1
        .reset(repository.1.find_commit(base).unwrap().as_object(), git2::ResetType::Soft, None)
        .unwrap();
    let merge = repository.commit(&[side]);
    repository.0.write("README.md", "y");
    repository.commit(&[]);
    assert_eq!(Checkout::of(&release).unwrap().pin().unwrap().revision, merge.to_string());
}

#[test]
fn release_of_a_built_in_repository_has_its_own_commit() {
    let directory = tempfile::tempdir().unwrap();
    let served = ServedRepository::open(&directory.path().join("served")).unwrap();
    let names = ["docker-demo-1-34-v1", "docker-demo-1-34-v2", "docker-demo-1-34-v3"];
    let mut commits = Vec::new();
    for name in names {
        let mut files = Files::default();
        files.insert("metadata.yaml", File { content: name.into(), executable: false }).unwrap();
        commits.push(served.add(&name.parse().unwrap(), &files).unwrap().to_string());
    }
    served.merge().unwrap();
    let scratch = Scratch::new("builtin");
    let clone = git2::Repository::clone(served.path().to_str().unwrap(), &scratch.0).unwrap();
    let releases = scratch.0.join("releases");
    let pin = |name: &str| Checkout::of(&releases.join(name)).unwrap().pin().unwrap().revision;
    assert_eq!(names.map(pin).as_slice(), commits);

    let repository = Repository(scratch, clone);
    fs::write(releases.join(names[1]).join("metadata.yaml"), "changed").unwrap();
    let changed = repository.commit(&[]).to_string();
    assert_eq!(names.map(pin), [commits[0].clone(), changed, commits[2].clone()]);
}

#[test]
fn shallow_clone_boundary_is_reported() {
    let repository = Repository::new("shallow");
    let release = repository.0.release(&format!("releases/{NAME}"));
    repository.commit(&[]);
    repository.0.write("README.md", "x");
    let head = repository.commit(&[]);
    repository.0.write(".git/shallow", &format!("{head}\n"));
    let pin = Checkout::of(&release).unwrap().pin().unwrap();
    assert_eq!((pin.revision, pin.cut_off), (head.to_string(), true));
}

#[test]
fn modified_work_tree_is_refused() {
    let repository = Repository::new("dirty");
    let release = repository.0.release(&format!("releases/{NAME}"));
    repository.0.write(".gitignore", "*.tgz\n");
    let head = repository.commit(&[]);
    check(&release).unwrap();
    repository.0.write(&format!("releases/{NAME}/logo.png"), "Flux leaves it out");
    repository.0.write("releases/other", "x");
    check(&release).unwrap();
    repository.0.write(&format!("releases/{NAME}/metadata.yaml"), "changed");
    repository.0.write(&format!("releases/{NAME}/charts/x.tgz"), "hidden by .gitignore");
    let error = check(&release).unwrap_err();
    let message = format!(
        "releases/{NAME} differs from commit {head}, which Flux fetches: charts/x.tgz, metadata.yaml"
    );
    assert_eq!(error.to_string(), message);
    let hint = "commit the release's directory first, including files that .gitignore hides";
    assert_eq!((error.reason(), error.hint()), ("WorkTreeDiffers", Some(hint)));
}

#[test]
fn modes_and_links_are_compared_too() {
    let repository = Repository::new("modes");
    let release = repository.0.release(&format!("releases/{NAME}"));
    symlink("metadata.yaml", release.join("link")).unwrap();
    repository.commit(&[]);
    check(&release).unwrap();
    fs::set_permissions(release.join("metadata.yaml"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(release.join("link")).unwrap();
    let PinError::Differs { paths, .. } = check(&release).unwrap_err() else { panic!("another error") };
    assert_eq!(paths, ["link", "metadata.yaml"]);
}

#[test]
fn uncommitted_release_is_refused() {
    let repository = Repository::new("new");
    repository.0.write("README.md", "x");
    let head = repository.commit(&[]);
    let release = repository.0.release(&format!("releases/{NAME}"));
    let error = Checkout::of(&release).unwrap().pin().unwrap_err();
    let message = format!("releases/{NAME} is not in commit {head}: the release is not committed");
    assert_eq!((error.to_string(), error.reason()), (message, "NotCommitted"));
}

#[test]
fn many_differences_are_counted() {
    let repository = Repository::new("many");
    let release = repository.0.release(&format!("releases/{NAME}"));
    repository.commit(&[]);
    for number in 0..25 {
        repository.0.write(&format!("releases/{NAME}/x{number}"), "x");
    }
    let PinError::Differs { paths, .. } = check(&release).unwrap_err() else { panic!("another error") };
    assert_eq!((paths.len(), paths.last().unwrap().as_str()), (11, "and 15 more"));
}

#[test]
fn repository_without_commit_is_refused() {
    let scratch = Scratch::new("unborn");
    git2::Repository::init(&scratch.0).unwrap();
    let release = scratch.release(NAME);
    let error = check(&release).unwrap_err();
    assert_eq!((error.reason(), error.hint().is_some()), ("NotCommitted", true));
    assert!(error.to_string().ends_with("this Git repository has no commit yet"), "{error}");
}

#[test]
fn directory_without_work_tree_has_no_pin() {
    let scratch = Scratch::new("plain");
    let release = scratch.release(NAME);
    let Err(error) = Checkout::of(&release) else { panic!("it has a work tree") };
    assert_eq!((error.reason(), error.class()), ("NoWorkTree", Class::Terminal));
}

#[test]
fn releases_behind_a_link_are_refused() {
    let scratch = Scratch::new("linked");
    scratch.release(&format!("elsewhere/{NAME}"));
    fs::create_dir(scratch.0.join("stack")).unwrap();
    symlink("../elsewhere", scratch.0.join("stack/releases")).unwrap();
    let error = open(&scratch.0.join("stack"), &Limits::default()).unwrap_err();
    let SourceError::Unusable { findings, .. } = &error else { panic!("{error}") };
    let finding = findings.iter().next().unwrap();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::LinkNotAllowed, "releases"));
    assert!(finding.message.contains("is a link to \"../elsewhere\""), "{finding}");
}

#[test]
fn submodule_in_a_work_tree_is_refused() {
    let scratch = Scratch::new("submodule");
    let release = scratch.release(NAME);
    scratch.write(&format!("{NAME}/cluster-addon/module/.git"), "gitdir: ../../.git/modules/x\n");
    let error = directory::read(&release, &Limits::default()).unwrap_err();
    let SourceError::Unusable { findings, .. } = &error else { panic!("{error}") };
    let finding = findings.iter().next().unwrap();
    assert_eq!((finding.reason, finding.file.as_str()), (Reason::InvalidPath, "cluster-addon/module"));
}
