//! The Kubernetes kinds that stackflux owns.
