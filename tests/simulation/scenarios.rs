//! The scenarios of simulations. Each is run with many seeds, and asserts what users care about; the properties that hold
//! for all of them are in `properties.rs`.

mod clusters;
mod components;
mod deletion;
mod delivery;
mod fixture;
mod foreign;
mod git;
mod guards;
mod platform;
mod regrets;
mod releases;
mod sources;
mod upgrade_writes;
mod upgrades;
