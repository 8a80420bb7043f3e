//! Simulations of the operator over an API server in memory.

#![cfg(test)]
#![allow(clippy::disallowed_methods, reason = "tests read files")]

mod api_server;
mod api_server_tests;
mod driver;
mod flux;
mod operator;
mod random;
mod repository;
mod scenarios;
mod wire;
