//! Users of an API server other than its administrator.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Cluster;
use crate::error::{Context as _, Error, Result};

impl Cluster {
    /// Writes a kubeconfig of an existing service account, with a token that is valid for an hour.
    pub fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let token = self.kubectl(&["create", "token", name, "-n", namespace, "--duration=1h"])?;
        self.kubeconfig_with_token(&format!("{namespace}.{name}"), token.trim())
    }

    /// Writes a kubeconfig of a user with this token, beside the administrator's.
    pub(crate) fn kubeconfig_with_token(&self, user: &str, token: &str) -> Result<PathBuf> {
        let text = self.kubectl(&["config", "view", "--raw", "--minify", "-o", "json"])?;
        let mut config: Value =
            serde_json::from_str(&text).context(|| "kubectl printed no JSON".to_owned())?;
        let context = config.pointer_mut("/contexts/0/context").and_then(Value::as_object_mut);
        let context = context.ok_or_else(|| Error::new("the kubeconfig has no context"))?;
        context.insert("user".to_owned(), json!(user));
        if let Some(config) = config.as_object_mut() {
            config.insert("users".to_owned(), json!([{"name": user, "user": {"token": token}}]));
        }
        let path = self.kubeconfig.with_extension(format!("{user}.kubeconfig"));
        fs::write(&path, config.to_string()).context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}
