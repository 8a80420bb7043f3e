//! Checks a server's certificate against configured CA certificates, which OpenSSL could trust only process-wide.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, ClientConnection, Error, RootCertStore};

use crate::http::{Proxy, Url};

/// Maximum number of certificates in a bundle.
const MAX_CERTIFICATES: usize = 1_000;

/// Maximum number of bytes read of a proxy's answer.
const MAX_ANSWER_BYTES: usize = 8 << 10;

/// Network path to the server that shows a certificate.
pub(super) struct Route<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) proxy: Option<&'a Proxy>,
    /// Timeout of each step.
    pub(super) wait: Duration,
}

impl Route<'_> {
    /// Connects to the server, through the proxy if there is one.
    fn connect(&self) -> io::Result<TcpStream> {
        let host = self.host.trim_matches(['[', ']']);
        let Some(proxy) = self.proxy else { return connect(host, self.port, self.wait) };
        let url = proxy.url();
        if url.scheme() != "http" {
            let why = format!("a custom CA is not supported with the proxy {proxy}: use an http:// proxy");
            return Err(io::Error::other(why));
        }
        let proxy_host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let mut stream = connect(proxy_host, url.port_or_known_default().unwrap_or_default(), self.wait)?;
        stream.write_all(self.request(url).as_bytes())?;
        let answer = head(&mut stream)?;
        let status = answer.split_ascii_whitespace().nth(1).unwrap_or_default();
        if status == "200" {
            return Ok(stream);
        }
        Err(io::Error::other(format!("the proxy {proxy} refuses the connection (status {status:?})")))
    }

    /// Returns the request for a tunnel (RFC 9110, 9.3.6).
    fn request(&self, proxy: &Url) -> String {
        let target = format!("{}:{}", self.host, self.port);
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if !proxy.username().is_empty() || proxy.password().is_some() {
            let plain = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
            let password = plain(proxy.password().unwrap_or_default());
            let both = [plain(proxy.username()), password].join(&b':');
            request = format!("{request}Proxy-Authorization: Basic {}\r\n", STANDARD.encode(both));
        }
        request + "\r\n"
    }
}

fn connect(host: &str, port: u16, wait: Duration) -> io::Result<TcpStream> {
    let address = (host, port).to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let stream = TcpStream::connect_timeout(&address, wait)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(wait))?;
    Ok(stream)
}

/// Reads the status line and headers of an answer, and no byte beyond them.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let (mut read, mut byte) = (Vec::new(), [0]);
    while !read.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        read.extend(byte);
        if read.len() > MAX_ANSWER_BYTES {
            return Err(io::Error::other(format!(
                "the proxy's answer exceeds the limit of {MAX_ANSWER_BYTES} bytes"
            )));
        }
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// The only certificates that are trusted.
pub(super) struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl Trusted {
    /// Reads a bundle of PEM certificates; the error says what is wrong with the bundle.
    pub(super) fn new(pem: &[u8]) -> Result<Self, String> {
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(pem).take(MAX_CERTIFICATES + 1).collect();
        let certificates = certificates.map_err(|error| format!("invalid PEM: {error}"))?;
        if certificates.len() > MAX_CERTIFICATES {
            return Err(format!("it exceeds the limit of {MAX_CERTIFICATES} certificates"));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots
                .add(certificate.clone())
                .map_err(|error| format!("a certificate in it cannot be read: {error}"))?;
        }
        if roots.is_empty() {
            return Err("it has no certificate".to_owned());
        }
        Ok(Self { certificates, roots: Arc::new(roots), provider: Arc::new(ring::default_provider()) })
    }

    /// Checks the certificate that a host shows; the error says why the certificate is not trusted.
    pub(super) fn check(&self, shown: &[u8], route: &Route<'_>) -> Result<(), String> {
        let shown = CertificateDer::from(shown.to_vec());
        let host = route.host.trim_matches(['[', ']']);
        let name =
            ServerName::try_from(host.to_owned()).map_err(|_| format!("invalid host name {host:?}"))?;
        // A self-signed certificate in the bundle is trusted by itself, not as an authority.
        if self.certificates.contains(&shown) {
            let parsed = ParsedCertificate::try_from(&shown).map_err(|error| why(&error))?;
            return verify_server_name(&parsed, &name).map_err(|error| why(&error));
        }
        match self.verify(&shown, &name) {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                self.check_with_chain(&shown, name, route)
            }
            other => other.map_err(|error| why(&error)),
        }
    }

    fn verify(&self, shown: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&self.roots), Arc::clone(&self.provider));
        let verifier = verifier.build().map_err(|error| Error::General(error.to_string()))?;
        verifier.verify_server_cert(shown, &[], name, &[], UnixTime::now()).map(drop)
    }

    /// Verifies the certificate with its intermediate certificates, for which this makes a second handshake: libgit2 passes
    /// on the server's own certificate only. The second handshake must show the same certificate.
    fn check_with_chain(
        &self,
        shown: &CertificateDer<'_>,
        name: ServerName<'static>,
        route: &Route<'_>,
    ) -> Result<(), String> {
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| why(&error))?
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth();
        let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|error| why(&error))?;
        handshake(&mut connection, route).map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                Some(error) => why(error),
                None => error.to_string(),
            }
        })?;
        let again = connection.peer_certificates().and_then(<[_]>::first);
        if again == Some(shown) {
            Ok(())
        } else {
            Err("the server shows another certificate each time".to_owned())
        }
    }
}

fn handshake(connection: &mut ClientConnection, route: &Route<'_>) -> io::Result<()> {
    let mut stream = route.connect()?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    connection.send_close_notify();
    connection.write_tls(&mut stream)?;
    stream.flush()
}

/// Words the error so that it names what to change.
fn why(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "none of the given certificates has signed it".to_owned()
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "it has expired".to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
