//! The bill of materials of the static binary: a `CycloneDX` document of its crates, and of the C libraries in them, which the
//! lock file does not name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The C libraries that crates build and link: crate, library, licence, and where its version stands.
const LIBRARIES: [(&str, &str, &str, Version); 5] = [
    ("libgit2-sys", "libgit2", "GPL-2.0-only WITH GCC-exception-2.0", Version::InTheCrate),
    ("openssl-src", "openssl", "Apache-2.0", Version::InTheCrate),
    (
        "libssh2-sys",
        "libssh2",
        "BSD-3-Clause",
        Version::InSource("libssh2/include/libssh2.h", "#define LIBSSH2_VERSION"),
    ),
    ("libz-sys", "zlib", "Zlib", Version::InSource("src/zlib/zlib.h", "#define ZLIB_VERSION")),
    (
        "libmimalloc-sys",
        "mimalloc",
        "MIT",
        Version::AsNumber("c_src/mimalloc/v3/include/mimalloc.h", "#define MI_MALLOC_VERSION"),
    ),
];

/// Where the version of a C library stands.
#[derive(Clone, Copy)]
enum Version {
    /// After the `+` of the crate's version.
    InTheCrate,
    /// In a file of the crate, in quotes after this text.
    InSource(&'static str, &'static str),
    /// In a file of the crate after this text, as a number with two digits each for the minor version and the patch.
    AsNumber(&'static str, &'static str),
}

/// Returns the document, from what `cargo metadata` says about the target and the features of the binary. `read` reads a file
/// of a crate by the crate's directory and the file's path, and `musl` is the version of the C library of the target.
pub(crate) fn bill(
    metadata: &Value,
    musl: &str,
    read: impl Fn(&str, &str) -> Result<String, String>,
) -> Result<Value, String> {
    let packages = by_id(metadata)?;
    let root = packages.values().find(|package| package["name"] == "stackflux");
    let root = *root.ok_or("cargo metadata has no package stackflux")?;
    let linked = linked(metadata, text(root, "id")?)?;
    let (mut components, mut unknown) = (Vec::new(), BTreeSet::new());
    for id in linked {
        let package = packages.get(id).ok_or_else(|| format!("cargo metadata has no package {id}"))?;
        let name = text(package, "name")?;
        components.push(crate_component(package)?);
        match LIBRARIES.iter().find(|(of, ..)| *of == name) {
            Some((_, library, licence, version)) => {
                let version = library_version(package, *version, &read)?;
                components.push(library_component(library, &version, licence));
            }
            None if !package["links"].is_null() => _ = unknown.insert(name.to_owned()),
            None => {}
        }
    }
    components.push(library_component("musl", musl, "MIT"));
    // `ring` links what it has itself, `openssl-sys` what `openssl-src` has, and `k8s-openapi` nothing.
    for known in ["k8s-openapi", "openssl-sys", "ring"] {
        unknown.remove(known);
    }
    if !unknown.is_empty() {
        return Err(format!("say which C libraries these crates link, in {}: {unknown:?}", file!()));
    }
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": crate_component(root)?},
        "components": components,
    }))
}

/// Returns the packages that are linked into the binary: not those that only build it or test it.
fn linked<'a>(metadata: &'a Value, root: &'a str) -> Result<BTreeSet<&'a str>, String> {
    let nodes =
        metadata.pointer("/resolve/nodes").and_then(Value::as_array).ok_or("cargo metadata has no nodes")?;
    let nodes: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let (mut found, mut left) = (BTreeSet::new(), vec![root]);
    while let Some(id) = left.pop() {
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array());
        for dependency in dependencies.into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked = kinds.into_iter().flatten().any(|kind| kind["kind"].is_null());
            let package = text(dependency, "pkg")?;
            // A build dependency whose sources are linked: it is built by the build script of openssl-sys.
            let is_source = package.contains("openssl-src");
            if (is_linked || is_source) && found.insert(package) {
                left.push(package);
            }
        }
    }
    Ok(found)
}

fn by_id(metadata: &Value) -> Result<BTreeMap<&str, &Value>, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    Ok(packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect())
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, String> {
    value[field].as_str().ok_or_else(|| format!("cargo metadata has no {field} in {value}"))
}

fn crate_component(package: &Value) -> Result<Value, String> {
    let (name, version) = (text(package, "name")?, text(package, "version")?);
    // Some crates write the `OR` of an expression as a slash.
    let licence = text(package, "license")?.replace('/', " OR ");
    Ok(json!({
        "type": "library", "name": name, "version": version,
        "purl": format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
        "licenses": [{"expression": licence}],
    }))
}

fn library_component(name: &str, version: &str, licence: &str) -> Value {
    json!({
        "type": "library", "name": name, "version": version, "purl": format!("pkg:generic/{name}@{version}"),
        "licenses": [{"expression": licence}],
    })
}

fn library_version(
    package: &Value,
    version: Version,
    read: impl Fn(&str, &str) -> Result<String, String>,
) -> Result<String, String> {
    let of = text(package, "version")?;
    let missing = || format!("the version of the C library in {} {of} cannot be found", package["name"]);
    let after = |file: &str, before: &str| {
        let manifest = text(package, "manifest_path")?;
        let directory = manifest.strip_suffix("/Cargo.toml").ok_or_else(missing)?;
        let source = read(directory, file)?;
        source.lines().find_map(|line| line.strip_prefix(before)).map(str::to_owned).ok_or_else(missing)
    };
    let found = match version {
        Version::InTheCrate => of.split_once('+').map(|(_, library)| library.to_owned()),
        Version::InSource(file, before) => after(file, before)?.split('"').nth(1).map(str::to_owned),
        Version::AsNumber(file, before) => {
            let number =
                after(file, before)?.split_whitespace().next().and_then(|word| word.parse::<u32>().ok());
            number.map(|number| format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
        }
    };
    found.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, links: Option<&str>) -> Value {
        let package = |name: &str, version: &str, links: Option<&str>| {
            json!({
                "id": name, "name": name, "version": version, "license": "MIT/Apache-2.0", "links": links,
                "manifest_path": format!("/crates/{name}/Cargo.toml"),
            })
        };
        let needs = |pkg: &str, kind: Value| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]});
        json!({
            "packages": [
                package("stackflux", "0.1.0", None), package(name, "0.3.1+1.9.7", links),
                package("cc", "1.0.0", None), package("openssl-src", "300.6.1+3.6.3", None),
            ],
            "resolve": {"nodes": [
                {"id": "stackflux", "deps": [needs(name, Value::Null), needs("cc", json!("build"))]},
                {"id": name, "deps": [needs("openssl-src", json!("build"))]},
            ]},
        })
    }

    fn names(bill: &Value) -> Vec<String> {
        let of = |it: &Value| format!("{} {}", it["name"].as_str().unwrap(), it["version"].as_str().unwrap());
        bill["components"].as_array().unwrap().iter().map(of).collect()
    }

    #[test]
    fn linked_crates_and_c_libraries_are_listed() {
        let read = |_: &str, _: &str| panic!("nothing is read");
        let bill = bill(&metadata("libgit2-sys", Some("git2")), "1.2.5", read).unwrap();
        assert_eq!(
            names(&bill),
            [
                "libgit2-sys 0.3.1+1.9.7",
                "libgit2 1.9.7",
                "openssl-src 300.6.1+3.6.3",
                "openssl 3.6.3",
                "musl 1.2.5"
            ],
            "cc only builds"
        );
        assert_eq!(bill["metadata"]["component"]["name"], "stackflux");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }

    #[test]
    fn version_is_read_from_the_source() {
        let read = |directory: &str, file: &str| {
            assert_eq!((directory, file), ("/crates/libssh2-sys", "libssh2/include/libssh2.h"));
            Ok("#define OTHER \"2\"\n#define LIBSSH2_VERSION    \"1.11.1\"\n".to_owned())
        };
        let found = bill(&metadata("libssh2-sys", Some("ssh2")), "1.2.5", read).unwrap();
        assert!(names(&found).contains(&"libssh2 1.11.1".to_owned()), "{found}");
        let read = |_: &str, _: &str| {
            Ok("#define MI_MALLOC_VERSION 30302   // major + 2 digits minor + 2 digits patch\n".to_owned())
        };
        let found = bill(&metadata("libmimalloc-sys", Some("mimalloc")), "1.2.5", read).unwrap();
        assert!(names(&found).contains(&"mimalloc 3.3.2".to_owned()), "{found}");
        let error =
            bill(&metadata("libssh2-sys", Some("ssh2")), "1.2.5", |_, _| Ok(String::new())).unwrap_err();
        assert!(error.contains("libssh2-sys"), "{error}");
    }

    #[test]
    fn unknown_c_library_is_an_error() {
        let error = bill(&metadata("curl-sys", Some("curl")), "1.2.5", |_, _| Ok(String::new())).unwrap_err();
        assert!(error.contains("curl-sys"), "{error}");
    }
}
