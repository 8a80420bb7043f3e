//! Flux status to a verdict per object, verdicts to conditions.
