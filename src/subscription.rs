//! Decides about the releases of a `ClusterStack`: which are offered, in use, kept or retiring, which `ClusterStack` has a
//! release that two claim, what each `ClusterStackRelease` says, whether it is delivered, kept or uninstalled, and how many
//! may be deleted per hour; and what the reconcile of a `ClusterStack` writes and deletes.

mod all_steps;
mod budget;
mod builtin;
mod claims;
mod deletion;
mod delivery;
mod inventory;
mod outdated;
mod release_delivery;
mod releases;
mod requests;
mod retirement;
mod roles;
mod sources;
mod stack;
mod teardown;

pub use all_steps::{AllSteps, decide_all_steps};
pub use budget::{
    allowance, allows, deletions, in_words, is_counted, known, left, lost, refilled, spent, summed,
};
pub use builtin::{BuiltinDecision, BuiltinFacts, decide_builtin, is_flux_behind};
pub use claims::{Claim, Claimant, claim, holder, keeper, orphaning_stack};
pub use deletion::{Deletion, DeletionFacts, decide_deletion};
pub use delivery::{
    ContentState, DeliveryMode, RELEASE_STEPS, ReleaseAction, ReleaseActionFacts, StepFacts, WrittenSteps,
    decide_release_action, is_class_delivered, provider_references, steps_to_write,
};
pub use inventory::{
    Inventory, InventoryFacts, inventory, is_of_others, is_shared, is_unowned_component, shared_object,
};
pub use outdated::{Outdated, OutdatedFacts, kinds_of_users, outdated, refers_to};
pub use release_delivery::{
    DecidedObject, DeliveryFacts, ObjectState, ReleaseDelivery, ReleaseWrite, decide_delivery,
};
pub use releases::{
    CatalogFacts, DesiredRelease, FoundRelease, ReleaseDecision, ReleaseProblem, ReleasesFacts,
    decide_releases, first_error, short,
};
pub use requests::{Forward, forward};
pub use retirement::{Retirement, RetirementFacts, decide_retirement, due, has_room, is_confirmed};
pub use roles::{Facts, RETIREMENT_DELAY, Role, ignored, is_of, is_used, latest, offered, roles, subscribes};
pub use sources::{is_source_confirmed, left_over_sources, takes_over};
pub use stack::{
    FollowedRepository, SourceWrite, StackDecision, StackPruning, SubscriptionFacts, decide_stack,
    source_write,
};
pub use teardown::{
    Teardown, TeardownFacts, decide_teardown, has_applied, has_class, is_deletion_confirmed, is_orphaned,
    is_own_namespace, is_retiring,
};

#[cfg(test)]
mod tests;
