//! The scenarios of simulations. Each is run with many seeds, and asserts what users care about; the properties that hold
//! for all of them are in `properties.rs`.

mod clusters;
mod components;
mod deletion;
mod delivery;
mod dependencies;
mod fixture;
mod foreign;
mod git;
mod guards;
mod overrides;
mod platform;
mod regrets;
mod releases;
mod sources;
mod stages;
mod upgrade_writes;
mod upgrades;
