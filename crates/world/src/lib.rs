//! Trimtab's access to the outside world, without any decision.
//!
//! This crate must not know the engine: no rule about what a request may do lives here. It turns orders into bytes
//! and bytes into vocabulary. Provider schemas stay in `models/`, the MCP protocol stays in `mcp/`, SQL stays in `store/`, and the time comes only from
//! `clock`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

pub mod clock;
pub mod git_config;
pub mod mcp;
pub mod models;
pub mod network;
pub mod open_files;
pub mod sandbox;
mod shared_work;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod workspace;
