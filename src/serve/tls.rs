//! TLS with a certificate that another program renews.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

/// The files of a Secret of the type `kubernetes.io/tls`.
const FILES: [&str; 2] = ["tls.crt", "tls.key"];
/// Interval at which the files are read again.
const INTERVAL: Duration = Duration::from_secs(10);

/// The certificate and key in a directory, which are read again when they change.
#[derive(Debug)]
pub struct Certificate {
    directory: PathBuf,
    loaded: Mutex<Loaded>,
}

#[derive(Clone)]
struct Loaded {
    files: [Vec<u8>; 2],
    config: Arc<ServerConfig>,
    read: Instant,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded(..)")
    }
}

/// A reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file is not PEM.
    #[error("{}: {error}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: pem::Error,
    },
    /// The key does not belong to the certificate.
    #[error("{}: {error}", directory.display())]
    Pair {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        error: rustls::Error,
    },
}

impl Certificate {
    /// Reads `tls.crt` and `tls.key` in a directory.
    pub fn open(directory: &Path) -> Result<Self, CertificateError> {
        let loaded = load(directory, None)?;
        Ok(Self { directory: directory.to_owned(), loaded: Mutex::new(loaded) })
    }

    /// Returns the acceptor of connections. With files that cannot be used now it is that of the last ones.
    pub(super) async fn acceptor(self: &Arc<Self>) -> TlsAcceptor {
        let loaded = self.loaded();
        if loaded.read.elapsed() < INTERVAL {
            return loaded.config.into();
        }
        let certificate = self.clone();
        let read =
            tokio::task::spawn_blocking(move || load(&certificate.directory, Some(certificate.loaded())));
        match read.await {
            Ok(Ok(now)) => {
                if now.files != loaded.files {
                    info!("the Git server has another certificate");
                }
                self.set(now.clone());
                now.config.into()
            }
            failed => {
                if let Ok(Err(error)) = failed {
                    warn!(%error, "the Git server keeps its certificate");
                }
                self.set(Loaded { read: Instant::now(), ..loaded.clone() });
                loaded.config.into()
            }
        }
    }

    fn loaded(&self) -> Loaded {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, loaded: Loaded) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = loaded;
    }
}

/// Reads the files, unless they are those of `before`.
fn load(directory: &Path, before: Option<Loaded>) -> Result<Loaded, CertificateError> {
    let [certificate, key] = FILES.map(|name| directory.join(name));
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| CertificateError::Io { path: path.to_owned(), error })
    };
    let files = [read(&certificate)?, read(&key)?];
    if let Some(before) = before.filter(|before| before.files == files) {
        return Ok(Loaded { read: Instant::now(), ..before });
    }
    let invalid = |path: &Path| {
        let path = path.to_owned();
        |error| CertificateError::Pem { path, error }
    };
    let chain = CertificateDer::pem_slice_iter(&files[0]).collect::<Result<Vec<_>, _>>();
    let (chain, private) = (
        chain.map_err(invalid(&certificate))?,
        PrivateKeyDer::from_pem_slice(&files[1]).map_err(invalid(&key))?,
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
    let config = config.map_err(|error| CertificateError::Pair { directory: directory.to_owned(), error })?;
    Ok(Loaded { files, config: Arc::new(config), read: Instant::now() })
}
