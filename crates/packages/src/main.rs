//! Makes the packages of stackflux from its built binary: `make dist` and `make image`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of processes and files, for people"
)]

mod archive;
mod bill;
mod image;
mod plugin;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use archive::{Entry, gzip, sha256, tar};
use clap::Parser;
use clap_complete::Shell;
use clap_mangen::Man;
use image::Image;
use serde_json::Value;

/// The target of the static binary.
const TARGET: &str = "x86_64-unknown-linux-musl";
/// The version of the C library that Rust brings for the target.
const MUSL: &str = "1.2.5";
/// The version of the packages.
const VERSION: &str = stackflux::installation::VERSION;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Make the packages of stackflux from its built binary
#[derive(Parser)]
enum Arguments {
    /// Write the archive, its checksum, the bill of materials and the manifest of the Flux plugin
    Dist {
        /// The static binary
        #[arg(long)]
        binary: PathBuf,
        /// URL that the archive will be offered below
        #[arg(long)]
        url: String,
        /// Directory to write
        #[arg(long)]
        output_dir: PathBuf,
    },
    /// Write an OCI image layout with the image of the operator, and one without a distribution
    Image {
        /// The static binary
        #[arg(long)]
        binary: PathBuf,
        /// The files of the distribution, as a tar file
        #[arg(long)]
        root: PathBuf,
        /// Directory to write
        #[arg(long)]
        output_dir: PathBuf,
    },
}

fn main() -> ExitCode {
    let made = match Arguments::parse() {
        Arguments::Dist { binary, url, output_dir } => dist(&binary, &url, &output_dir),
        Arguments::Image { binary, root, output_dir } => images(&binary, &root, &output_dir),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("packages: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the archive and what describes it.
fn dist(binary: &Path, url: &str, output: &Path) -> Result<()> {
    fs::create_dir_all(output)?;
    let name = plugin::archive_name(VERSION);
    let archive = gzip(&tar(content(fs::read(binary)?)?)?)?;
    let bill = serde_json::to_string_pretty(&bill()?)? + "\n";
    let bill_name = format!("stackflux_{VERSION}_linux_amd64.cdx.json");
    let checksums = format!("{}  {name}\n{}  {bill_name}\n", sha256(&archive), sha256(bill.as_bytes()));
    let manifest = plugin::manifest(VERSION, &sha256(&archive), url);
    fs::write(output.join(&name), &archive)?;
    fs::write(output.join(bill_name), bill)?;
    fs::write(output.join(format!("stackflux_{VERSION}_checksums.txt")), checksums)?;
    // JSON is YAML.
    fs::write(output.join("stackflux.yaml"), serde_json::to_string_pretty(&manifest)? + "\n")?;
    println!("{}", output.join(name).display());
    Ok(())
}

/// Returns the content of the archive.
fn content(binary: Vec<u8>) -> Result<Vec<Entry>> {
    let mut content = vec![Entry::program("stackflux", binary)];
    for file in ["LICENSE", "NOTICE"] {
        content.push(Entry::file(file, fs::read(repository().join(file))?));
    }
    for (shell, file) in
        [(Shell::Bash, "stackflux.bash"), (Shell::Zsh, "_stackflux"), (Shell::Fish, "stackflux.fish")]
    {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut stackflux::cli::definition(), "stackflux", &mut script);
        content.push(Entry::file(&format!("completions/{file}"), script));
    }
    let mut command = stackflux::cli::definition();
    command.build();
    pages(&command, &mut content)?;
    Ok(content)
}

/// Adds the man page of a command, and those of its subcommands.
fn pages(command: &clap::Command, content: &mut Vec<Entry>) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    content.push(Entry::file(&format!("man/man1/{name}.1"), page));
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        pages(subcommand, content)?;
    }
    Ok(())
}

/// Returns the bill of materials of the binary.
fn bill() -> Result<Value> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.current_dir(repository()).args(["metadata", "--format-version=1", "--locked"]);
    command.args(["--features=static", "--filter-platform", TARGET]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let read = |directory: &str, file: &str| {
        let path = Path::new(directory).join(file);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    Ok(bill::bill(&serde_json::from_slice(&output.stdout)?, MUSL, read)?)
}

/// Writes the layout of the images.
fn images(binary: &Path, root: &Path, output: &Path) -> Result<()> {
    let (binary, root) = (fs::read(binary)?, fs::read(root)?);
    let certificates = archive::read(&root, "etc/ssl/certs/ca-certificates.crt")?;
    let operator = Image {
        tag: VERSION.to_owned(),
        layers: vec![root, tar(program(binary.clone())?)?],
        entrypoint: vec!["/usr/bin/tini", "--", "/usr/local/bin/stackflux"],
    };
    let mut alone = program(binary)?;
    for directory in ["etc", "etc/ssl", "etc/ssl/certs", "data"] {
        alone.push(Entry::directory(directory, 0o755));
    }
    alone.push(Entry::directory("tmp", 0o1777));
    alone.push(Entry::file("etc/ssl/certs/ca-certificates.crt", certificates));
    let alone = Image {
        tag: format!("{VERSION}-scratch"),
        layers: vec![tar(alone)?],
        entrypoint: vec!["/usr/local/bin/stackflux"],
    };
    image::write(output, VERSION, vec![operator, alone])?;
    println!("{}", output.display());
    Ok(())
}

/// Returns the layer with the binary and its licence.
fn program(binary: Vec<u8>) -> Result<Vec<Entry>> {
    let directories =
        ["usr", "usr/local", "usr/local/bin", "usr/share", "usr/share/doc", "usr/share/doc/stackflux"];
    let mut layer: Vec<Entry> = directories.iter().map(|path| Entry::directory(path, 0o755)).collect();
    layer.push(Entry::program("usr/local/bin/stackflux", binary));
    for file in ["LICENSE", "NOTICE"] {
        layer.push(Entry::file(
            &format!("usr/share/doc/stackflux/{file}"),
            fs::read(repository().join(file))?,
        ));
    }
    Ok(layer)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let binary = directory.path().join("binary");
        fs::write(&binary, "binary").unwrap();
        dist(&binary, "https://example.org/releases/v0.1.0/", &directory.path().join("dist")).unwrap();
        directory
    }

    #[test]
    fn packages_are_reproducible_and_their_checksums_right() {
        let [one, other] = [made(), made()];
        let names = |directory: &Path| {
            let files = fs::read_dir(directory.join("dist")).unwrap();
            let mut names: Vec<_> =
                files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(one.path()).len(), 4);
        for name in names(one.path()) {
            let read = |of: &tempfile::TempDir| fs::read(of.path().join("dist").join(&name)).unwrap();
            assert_eq!(read(&one), read(&other), "{name}");
        }
        let checksums = format!("dist/stackflux_{VERSION}_checksums.txt");
        let checksums = fs::read_to_string(one.path().join(checksums)).unwrap();
        for line in checksums.lines() {
            let (digest, name) = line.split_once("  ").unwrap();
            assert_eq!(digest, sha256(&fs::read(one.path().join("dist").join(name)).unwrap()), "{name}");
        }
        assert_eq!(checksums.lines().count(), 2);
    }

    #[test]
    fn plugin_names_the_archive_and_what_is_in_it() {
        let made = made();
        let manifest = fs::read(made.path().join("dist/stackflux.yaml")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let platform = &manifest["versions"][0]["platforms"][0];
        let name = platform["url"].as_str().unwrap().rsplit('/').next().unwrap();
        let archive = fs::read(made.path().join("dist").join(name)).unwrap();
        assert_eq!(platform["checksum"], format!("sha256:{}", sha256(&archive)));
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
        let paths =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string());
        let paths: Vec<String> = paths.collect();
        assert_eq!(manifest["bin"], "flux-stackflux", "the Flux CLI refuses a program without this prefix");
        for path in [
            platform["extractPath"].as_str().unwrap(),
            "LICENSE",
            "NOTICE",
            "completions/_stackflux",
            "man/man1/stackflux.1",
            "man/man1/stackflux-doctor.1",
        ] {
            assert!(paths.iter().any(|found| found == path), "{path} is not in {paths:?}");
        }
    }

    #[test]
    fn bill_names_the_c_libraries_of_this_repository() {
        let bill = bill().unwrap();
        let components = bill["components"].as_array().unwrap();
        for name in ["libgit2", "libssh2", "openssl", "musl", "kube", "gotemplate"] {
            let found = components.iter().find(|component| component["name"] == name);
            let version = found.and_then(|found| found["version"].as_str()).unwrap_or_default();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{name} {version}");
        }
        let is_there = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(!is_there("proptest"), "what only tests need is not in it");
    }
}
