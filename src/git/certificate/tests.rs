use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::*;

const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const NAMES: [&str; 2] = ["-addext", "subjectAltName=DNS:git.example.org,IP:10.0.0.1"];

fn openssl(directory: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Creates `ca.crt`, and `own.crt`, which is its own authority.
fn directory() -> TempDir {
    let directory = TempDir::new().unwrap();
    let make = |name: &str, more: &[&str]| {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
        let files = ["-keyout", &key, "-out", &certificate, "-subj", "/CN=a", "-days", "2"];
        openssl(directory.path(), &[&["req", "-x509"], NEW_KEY.as_slice(), &files, more].concat());
    };
    make("ca", &[]);
    make("own", &NAMES);
    directory
}

/// Returns a certificate signed by `ca.crt` that is valid for `days`.
fn signed(directory: &TempDir, days: &str) -> Vec<u8> {
    let request = ["-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=a"];
    openssl(directory.path(), &[&["req"], NEW_KEY.as_slice(), &request, &NAMES].concat());
    let sign = ["x509", "-req", "-in", "leaf.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
    let to = ["-copy_extensions", "copy", "-days", days, "-out", "leaf.crt"];
    openssl(directory.path(), &[sign.as_slice(), &to].concat());
    der(directory, "leaf.crt")
}

fn der(directory: &TempDir, name: &str) -> Vec<u8> {
    let pem = fs::read(directory.path().join(name)).unwrap();
    CertificateDer::from_pem_slice(&pem).unwrap().to_vec()
}

fn check(directory: &TempDir, bundle: &[&str], shown: &[u8], host: &str) -> Result<(), String> {
    let pem: Vec<u8> =
        bundle.iter().flat_map(|name| fs::read(directory.path().join(name)).unwrap()).collect();
    // Nothing listens there: the certificate alone has to suffice.
    let route = Route { host, port: 9, proxy: None, wait: Duration::from_secs(1) };
    Trusted::new(&pem).unwrap().check(shown, &route)
}

#[test]
fn certificate_is_valid_for_its_names_and_period() {
    let directory = directory();
    let leaf = signed(&directory, "2");
    for host in ["git.example.org", "GIT.example.org", "10.0.0.1"] {
        assert_eq!(check(&directory, &["own.crt", "ca.crt"], &leaf, host), Ok(()), "{host}");
    }
    for host in ["example.org", "x.git.example.org", "10.0.0.2", "[::1]"] {
        let error = check(&directory, &["ca.crt"], &leaf, host).unwrap_err();
        assert!(error.contains("not valid for name"), "{error}");
    }
    let error = check(&directory, &["ca.crt"], &signed(&directory, "-1"), "git.example.org").unwrap_err();
    assert!(error.contains("expired"), "{error}");
}

#[test]
fn pinned_certificate_is_trusted_for_its_names() {
    let directory = directory();
    let own = der(&directory, "own.crt");
    assert_eq!(check(&directory, &["ca.crt", "own.crt"], &own, "git.example.org"), Ok(()));
    assert!(check(&directory, &["own.crt"], &own, "example.org").is_err());
    assert!(check(&directory, &["ca.crt"], &own, "git.example.org").is_err());
}

#[test]
fn empty_certificate_bundle_is_refused() {
    for bundle in ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(Trusted::new(bundle.as_bytes()).is_err(), "{bundle:?}");
    }
}
