//! What stackflux reads of Flux objects: metadata, conditions and a few status fields.
