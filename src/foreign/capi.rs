//! Cluster API, as values templates and gates read it.
