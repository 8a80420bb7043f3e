//! The Lease object. A write has the resource version that was read as its precondition.

use std::future::Future;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use tracing::debug;

use super::{Decision, LeaseSettings, Observation};
use crate::names::Namespace;
use crate::runtime::client::explain;
use crate::runtime::metrics::{Metrics, Verb};

/// A request about a Lease failed.
#[derive(Debug, thiserror::Error)]
#[error("the Lease {lease} cannot be {verb}: {why}")]
pub struct RecordError {
    lease: String,
    /// The operation, as a past participle.
    verb: &'static str,
    why: String,
}

/// A Lease of the API server, and its state as this process last saw it.
pub(super) struct Record {
    api: Api<Lease>,
    name: String,
    /// Namespace and name.
    pub(super) lease: String,
    metrics: Metrics,
    field_manager: &'static str,
    seen: Option<Seen>,
}

/// A Lease as it was when it was last read or written.
struct Seen {
    lease: Lease,
    /// Time at which this version was first seen.
    since: Instant,
}

impl Record {
    pub(super) fn new(
        client: Client,
        namespace: &Namespace,
        name: &str,
        metrics: Metrics,
        field_manager: &'static str,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace.as_str()),
            name: name.to_owned(),
            lease: format!("{namespace}/{name}"),
            metrics,
            field_manager,
            seen: None,
        }
    }

    /// Whether `me` held it when it was last seen.
    pub(super) fn is_of(&self, me: &str) -> bool {
        self.seen.as_ref().and_then(Seen::holder) == Some(me)
    }

    /// Returns the last state; `None` if the Lease does not exist.
    pub(super) fn observation(&self) -> Option<Observation> {
        let seen = self.seen.as_ref()?;
        let seconds = seen.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
        Some(Observation { holder: seen.holder().map(str::to_owned), duration, since: seen.since })
    }

    /// Reads it.
    pub(super) async fn look(&mut self, settings: &LeaseSettings) -> Result<(), RecordError> {
        let found = self.request("read", Verb::Get, settings, self.api.get_opt(&self.name)).await?;
        self.seen = found.map(|lease| {
            let known =
                self.seen.take().filter(|seen| seen.lease.resource_version() == lease.resource_version());
            let since = known.map_or_else(Instant::now, |seen| seen.since);
            Seen { lease, since }
        });
        Ok(())
    }

    /// Writes the Lease with `me` as its holder. After any failure its state is unknown and has to be read again.
    pub(super) async fn write(
        &mut self,
        me: &str,
        decision: &Decision,
        settings: &LeaseSettings,
    ) -> Result<(), RecordError> {
        let now = MicroTime(Timestamp::now());
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let mut lease = self.seen.take().map_or_else(|| Lease { metadata, spec: None }, |seen| seen.lease);
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if *decision != Decision::Renew {
            spec.lease_transitions = spec.lease_transitions.map(|count| count.saturating_add(1)).or(Some(0));
            spec.acquire_time = Some(now.clone());
        }
        spec.holder_identity = Some(me.to_owned());
        spec.lease_duration_seconds = Some(settings.announced_seconds());
        spec.renew_time = Some(now);
        let written = if *decision == Decision::Create {
            self.request("created", Verb::Create, settings, self.api.create(&self.parameters(), &lease))
                .await?
        } else {
            self.replace("written", &lease, settings).await?
        };
        debug!(lease = self.lease, ?decision, "Lease written");
        self.seen = Some(Seen { lease: written, since: Instant::now() });
        Ok(())
    }

    /// Empties the holder.
    pub(super) async fn give_back(&mut self, settings: &LeaseSettings) -> Result<(), RecordError> {
        let Some(Seen { mut lease, .. }) = self.seen.take() else { return Ok(()) };
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = Some(String::new());
        }
        self.replace("released", &lease, settings).await.map(drop)
    }

    async fn replace(
        &self,
        verb: &'static str,
        lease: &Lease,
        settings: &LeaseSettings,
    ) -> Result<Lease, RecordError> {
        let parameters = self.parameters();
        self.request(verb, Verb::Replace, settings, self.api.replace(&self.name, &parameters, lease)).await
    }

    fn parameters(&self) -> PostParams {
        PostParams { field_manager: Some(self.field_manager.to_owned()), ..PostParams::default() }
    }

    async fn request<T>(
        &self,
        verb: &'static str,
        method: Verb,
        settings: &LeaseSettings,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, RecordError> {
        let (start, timeout) = (Instant::now(), settings.request_timeout());
        let answer = tokio::time::timeout(timeout, request).await;
        self.metrics.answered(method, "Lease", start.elapsed());
        let why = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => explain(&error),
            Err(_) => format!("timed out after {} s", timeout.as_secs_f64()),
        };
        Err(RecordError { lease: self.lease.clone(), verb, why })
    }
}

impl Seen {
    fn holder(&self) -> Option<&str> {
        self.lease.spec.as_ref()?.holder_identity.as_deref()
    }
}
