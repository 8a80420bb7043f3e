//! Tests of TLS with a CA that the test creates.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// Creates a CA and a certificate for 127.0.0.1 signed by it. Returns the PEM of the CA, of the certificate and of its key.
fn certificates() -> [Vec<u8>; 3] {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("extensions"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").unwrap();
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let ca = ["req", "-x509", "-days", "2", "-subj", "/CN=test", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(directory.path(), ca.into_iter().chain(key));
    let request = ["req", "-subj", "/CN=leaf", "-keyout", "leaf.key", "-out", "leaf.csr"];
    openssl(directory.path(), request.into_iter().chain(key));
    let sign = ["x509", "-req", "-days", "2", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key"];
    let into = ["-CAcreateserial", "-extfile", "extensions", "-out", "leaf.pem"];
    openssl(directory.path(), sign.into_iter().chain(into));
    ["ca.pem", "leaf.pem", "leaf.key"].map(|name| std::fs::read(at(name)).unwrap())
}

fn openssl<'a>(directory: &Path, arguments: impl Iterator<Item = &'a str>) {
    let output = Command::new("openssl").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a server that gives this answer to every client that trusts it.
fn serve(certificate: &[u8], key: &[u8], answer: String) -> Url {
    install_tls_provider();
    let chain = vec![CertificateDer::from_pem_slice(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            // A client that does not trust the server closes the connection.
            let Ok(1..) = stream.read(&mut [0; 4096]) else { continue };
            stream.write_all(answer.as_bytes()).unwrap();
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    url
}

#[tokio::test]
async fn custom_ca_is_trusted() {
    let [ca, certificate, key] = certificates();
    let url = serve(&certificate, &key, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_owned());
    let trusting = Client::new(Options { ca: Some(ca), ..options() }).unwrap();
    let answer = trusting.ask(&Request::get(url.clone())).await.unwrap();
    assert_eq!(answer.bytes(2).await.unwrap(), b"hi");
    let error = client().ask(&Request::get(url)).await.unwrap_err();
    assert!(matches!(error, TransportError::Certificate { .. }), "{error}");
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
}

#[tokio::test]
async fn https_is_not_redirected_to_http() {
    let plain = host::Host::start(|_| reply(200, "")).await;
    let [ca, certificate, key] = certificates();
    let to = format!("{}x?hidden", plain.url);
    let url = serve(
        &certificate,
        &key,
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"),
    );
    let trusting = Client::new(Options { ca: Some(ca), ..options() }).unwrap();
    let error = trusting.ask(&secret(url)).await.unwrap_err();
    assert!(matches!(error, TransportError::Redirect { .. }), "{error}");
    assert!(error.to_string().contains("it is not encrypted"), "{error}");
    assert!(!format!("{error}{error:?}").contains("hidden"));
    assert!(plain.seen().is_empty());
}

#[tokio::test]
async fn server_without_tls_is_reported() {
    let plain = host::Host::start(|_| reply(200, "")).await;
    let mut url = plain.url.clone();
    url.set_scheme("https").unwrap();
    let error = client().ask(&Request::get(url)).await.unwrap_err();
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
}

#[test]
fn file_without_certificate_is_refused() {
    for pem in ["", "not PEM", "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"] {
        let error = Client::new(Options { ca: Some(pem.into()), ..options() }).unwrap_err();
        assert!(matches!(error, TransportError::Tls(_)), "{error}");
    }
    let broken = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    Client::new(Options { ca: Some(broken.into()), ..options() }).unwrap_err();
}
