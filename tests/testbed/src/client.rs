//! A client for operations that are too slow with kubectl, or impossible.

use std::path::Path;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tokio::runtime::Runtime;

use crate::error::{Context as _, Result};

pub(crate) fn runtime() -> Result<Runtime> {
    Runtime::new().context(|| "cannot start a runtime".to_owned())
}

/// A client of the user of a kubeconfig.
pub(crate) async fn connect(kubeconfig: &Path) -> Result<Client> {
    let failed = || format!("cannot use {}", kubeconfig.display());
    let file = Kubeconfig::read_from(kubeconfig).context(failed)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.context(failed)?;
    Client::try_from(config).context(failed)
}
