//! Runs the images that `make image` has written, without a container engine: their layers are unpacked, and their programs
//! run in a chroot as the images' user, with a read-only root. This needs root's rights.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests run processes and read files"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::Value;
use stackflux::installation::VERSION;
use tar::Archive;
use tempfile::TempDir;

/// Mounts what a container runtime mounts, makes the rest read-only, and runs a command as the images' user.
const CONTAINER: &str = r#"
set -eu
root=$1
shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
! touch "$root/file" 2>/dev/null || { echo "the root is not read-only"; exit 1; }
exec /usr/sbin/chroot --userspec=65532:65532 "$root" "$@"
"#;
/// Publishes a release with a signed commit, and serves it by Git.
const PUBLISH: &str = r#"
set -eu
export HOME=/tmp GIT_CONFIG_GLOBAL=/tmp/gitconfig
cd /tmp
git config --global init.defaultBranch main
git config --global gpg.ssh.allowedSignersFile /tmp/signers
git init --quiet --bare stacks.git
ssh-keygen -q -t ed25519 -N '' -f key
printf 'stacks@example.org %s\n' "$(cat key.pub)" > signers
gpg --batch --quiet --passphrase '' --quick-generate-key 'Stacks <stacks@example.org>' ed25519 sign never
publish() { stackflux publish "/releases/$1" --to file:///tmp/stacks.git --author 'Stacks <stacks@example.org>' --signing-key "$2"; }
publish docker-demo-1-34-v1 key
git --git-dir stacks.git verify-commit main
publish docker-demo-1-34-v2 stacks@example.org
git --git-dir stacks.git verify-commit main
git clone --quiet --no-local stacks.git clone
ls clone/releases
"#;

/// A root directory with the content of an image.
struct Root {
    directory: TempDir,
    /// The settings of the image's containers.
    config: Value,
}

impl Root {
    /// Unpacks the image with this end of its tag.
    fn unpacked(tag: &str) -> Self {
        let layout = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../dist/image");
        let index = layout.join("index.json");
        assert!(index.exists(), "{} does not exist: run make image", index.display());
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
            fs::read(layout.join("blobs/sha256").join(digest)).unwrap()
        };
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = json(&fs::read(index).unwrap());
        let named = |image: &&Value| {
            let name = image["annotations"]["org.opencontainers.image.ref.name"].as_str().unwrap();
            name.strip_prefix(VERSION) == Some(tag)
        };
        let manifest = json(&blob(index["manifests"].as_array().unwrap().iter().find(named).unwrap()));
        let config = json(&blob(&manifest["config"]));
        assert_eq!(config["config"]["User"], "65532:65532");
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for layer in manifest["layers"].as_array().unwrap() {
            let layer = blob(layer);
            let mut archive = Archive::new(GzDecoder::new(layer.as_slice()));
            archive.set_preserve_permissions(true);
            archive.set_preserve_ownerships(true);
            archive.unpack(directory.path()).unwrap();
        }
        // A container runtime creates the directories that it mounts something on.
        for mounted in ["dev", "proc", "tmp"] {
            fs::create_dir_all(directory.path().join(mounted)).unwrap();
        }
        let config = config["config"].clone();
        let work = directory.path().join(config["WorkingDir"].as_str().unwrap().trim_start_matches('/'));
        assert!(work.is_dir(), "{} does not exist", work.display());
        Self { directory, config }
    }

    /// Runs a command with the image's environment, and returns what it prints.
    fn run(&self, command: &[&str]) -> String {
        let output = Command::new("/usr/bin/unshare")
            .args(["--mount", "--propagation=private", "sh", "-c", CONTAINER, "sh"])
            .arg(self.directory.path())
            .args(command)
            .env_clear()
            .envs(strings(&self.config["Env"]).iter().filter_map(|variable| variable.split_once('=')))
            .output()
            .unwrap();
        let [printed, errors] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert!(output.status.success(), "{command:?}: {printed}{errors}");
        printed
    }

    /// Runs the image's entrypoint.
    fn enter(&self, arguments: &[&str]) -> String {
        let entrypoint = strings(&self.config["Entrypoint"]).into_iter();
        self.run(&entrypoint.chain(arguments.iter().copied()).collect::<Vec<_>>())
    }

    fn assert_command_runs(&self) {
        assert_eq!(self.enter(&["--version"]).trim(), format!("stackflux {VERSION}"));
        assert!(self.enter(&["crds"]).contains("kind: CustomResourceDefinition"));
        let kept = ["etc/ssl/certs/ca-certificates.crt", "usr/share/doc/stackflux/LICENSE"];
        for path in kept.map(|path| self.directory.path().join(path)) {
            assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 0), "{}", path.display());
        }
    }
}

#[test]
#[ignore = "needs root, and make image"]
fn operator_image_publishes_signed_commits() {
    let root = Root::unpacked("");
    root.assert_command_runs();
    let releases = repository().join("examples/stack/releases");
    let copied = Command::new("cp").arg("-R").arg(releases).arg(root.directory.path()).status().unwrap();
    assert!(copied.success());
    let printed = root.run(&["/bin/sh", "-c", PUBLISH]);
    assert!(printed.contains("docker-demo-1-34-v1\ndocker-demo-1-34-v2"), "{printed}");
}

#[test]
#[ignore = "needs root, and make image"]
fn image_without_a_distribution_runs_commands() {
    let root = Root::unpacked("-scratch");
    root.assert_command_runs();
    assert!(!root.directory.path().join("bin").exists(), "it has no shell");
}

#[test]
fn dockerfile_installs_the_packages_of_the_image() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let (assembled, dockerfile) = (read("crates/packages/root"), read("Dockerfile"));
    let packages = assembled.lines().find_map(|line| line.strip_prefix("packages=")).unwrap();
    let installed = format!("--no-install-recommends {} \\", packages.replace(',', " "));
    let last = dockerfile.rsplit("\nFROM ").next().unwrap();
    assert!(last.contains(&installed), "the last stage of Dockerfile lacks: {installed}");
    let entrypoint = r#"ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/stackflux"]"#;
    assert!(last.contains(entrypoint) && last.contains("USER 65532:65532"), "{last}");
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
