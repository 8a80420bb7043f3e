//! Reads the CRD of `HelmRelease`, which tells what helm-controller does with a chart that gets another name.
//!
//! It is read instead of watched: a GET each minute, of the one name, costs less than a watch of all CRDs. When the answer
//! changes, everything that may be held because of it is enqueued.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use tracing::{debug, info, warn};

use super::context::Context;
use super::enqueue::enqueue_all;
use crate::foreign::flux::definition::{HELM_RELEASES, Renaming};
use crate::runtime::api_server::RequestError;
use crate::runtime::cache::Key;

/// Reads the CRD forever. A request that fails changes nothing.
pub(super) async fn watch(context: &Context) {
    let controller = &context.helm_controller;
    loop {
        match read(context).await {
            Ok(renaming) => {
                let was_read = controller.is_read();
                let is_changed = controller.set(&renaming);
                if is_changed || !was_read {
                    log(&renaming);
                }
                if is_changed {
                    enqueue_all(context);
                }
            }
            Err(error) => debug!("cannot read the CRD of HelmRelease: {error}"),
        }
        tokio::time::sleep(controller.pause()).await;
    }
}

async fn read(context: &Context) -> Result<Renaming, RequestError> {
    match context.api.get::<CustomResourceDefinition>(&Key::new("", HELM_RELEASES)).await {
        Ok(Some(definition)) => Ok(Renaming::of(&definition)),
        Ok(None) => Ok(Renaming::Unknown("the CRD of HelmRelease does not exist".to_owned())),
        Err(error) if error.is_forbidden() => {
            Ok(Renaming::Unknown("the operator may not read the CRD of HelmRelease".to_owned()))
        }
        Err(error) => Err(error),
    }
}

fn log(renaming: &Renaming) {
    match renaming {
        Renaming::InPlace => info!("helm-controller upgrades charts whose name changes in place"),
        Renaming::Uninstall { version } => {
            let version = version.as_deref().unwrap_or("unknown version");
            warn!(
                flux = version,
                "Flux is older than 2.9 and uninstalls charts whose name changes: these are held"
            );
        }
        Renaming::Unknown(why) => warn!("{why}: charts whose name changes are held"),
    }
}
