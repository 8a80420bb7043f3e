//! The labels of metrics, and their values.

use prometheus_client::encoding::EncodeLabelSet;

use crate::names::words;

words! {
    /// The verb of a request.
    Verb {
        /// Reads one object.
        Get => "get",
        /// Reads many objects.
        List => "list",
        /// Creates an object.
        Create => "create",
        /// Replaces an object.
        Replace => "replace",
        /// Applies an object (server-side apply).
        Apply => "apply",
        /// Patches an object or its status.
        Patch => "patch",
        /// Deletes an object.
        Delete => "delete",
    }
}

words! {
    /// The result of a write request.
    Written {
        /// The object has changed.
        Changed => "changed",
        /// The object was already in that state: the request was unnecessary.
        Unchanged => "unchanged",
        /// The API server refused: a conflict, missing permission, invalid content.
        Refused => "refused",
        /// The API server failed, or did not answer in time.
        Failed => "failed",
        /// Not sent, or its answer not awaited: this process does not lead, or no longer does.
        Fenced => "fenced",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReconcileLabels {
    pub(super) kind: &'static str,
    pub(super) outcome: &'static str,
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueLabels {
    pub(super) queue: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WriteLabels {
    pub(super) kind: String,
    pub(super) verb: &'static str,
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KindLabels {
    pub(super) kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) verb: &'static str,
    pub(super) kind: String,
}
