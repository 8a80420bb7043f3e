//! Simulations of the operator over an API server in memory.

#[cfg(test)]
mod api_server;
#[cfg(test)]
mod api_server_tests;
