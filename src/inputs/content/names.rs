//! The names of sources and charts, and whose they are. A name in use stays.

use std::collections::{BTreeMap, BTreeSet};

use crate::foreign::flux::FluxKind;
use crate::foreign::flux::observed::FluxObject;
use crate::inputs::claim::{self, Claim};
use crate::inputs::stack::Stack;
use crate::names::{Key, NameError, ObjectName};

/// The name of a source or chart, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The name.
    pub name: ObjectName,
    /// The claim on it; `None` if releases of several namespaces have it since an earlier version.
    pub claim: Option<Claim>,
}

/// Kind and key of a source or chart.
type Named = (FluxKind, Key);

/// What is known about the names of sources and charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Those that the releases of the `ClusterStack`'s namespace have.
    ours: BTreeSet<Named>,
    /// Those that releases of other namespaces have.
    others: BTreeSet<Named>,
    /// The claims of existing objects.
    claims: BTreeMap<Named, Claim>,
}

impl Names {
    /// Adds the name of a source or chart in the status of a release, of the `ClusterStack`'s namespace or another one.
    pub fn insert(&mut self, kind: FluxKind, key: &Key, is_ours: bool) {
        let names = if is_ours { &mut self.ours } else { &mut self.others };
        names.insert((kind, key.clone()));
    }

    /// Adds the claim on an existing source or chart.
    pub fn insert_claim(&mut self, object: &FluxObject) {
        if let Some(claim) = Claim::of(&object.object).filter(|_| object.kind().is_source()) {
            self.claims.insert((object.kind(), Key::of_metadata(&object.object)), claim);
        }
    }

    /// Returns the name of a source or chart, and the claim on it: the name that it has; otherwise the plain one if it is
    /// beside the `ClusterStack` and not that of another namespace; otherwise one of its own.
    pub fn owned(&self, stack: &Stack, kind: FluxKind, plain: &str) -> Result<Owned, NameError> {
        let namespace = stack.source_namespace(&stack.namespace);
        let named = |name: &str| (kind, Key::new(namespace.as_str(), name));
        let (own, plain) = (claim::own_name(stack, plain)?, plain.parse::<ObjectName>()?);
        let (own_key, plain_key) = (named(own.as_str()), named(plain.as_str()));
        let has = |key: &Named| self.ours.contains(key);
        let is_theirs = |key: &Named| {
            let other = self.claims.get(key).filter(|claim| claim.namespace != stack.namespace.as_str());
            other.is_some() || self.others.contains(key)
        };
        let is_own_there = self.claims.get(&own_key).is_some_and(|claim| claim.is_of(stack));
        let is_plain = has(&plain_key) || (stack.is_beside_source() && !is_theirs(&plain_key));
        if has(&own_key) || is_own_there || !is_plain {
            return Ok(Owned { name: own, claim: Some(Claim::own(stack)) });
        }
        // Releases of several namespaces have had it since an earlier version: all of them plan it alike.
        let claim = match self.claims.get(&plain_key) {
            Some(found) if found.namespace != stack.namespace.as_str() => Some(found.clone()),
            None if self.others.contains(&plain_key) => None,
            _ => Some(Claim::shared(stack)),
        };
        Ok(Owned { name: plain, claim })
    }
}
