//! Tests only: a scripted and a simulated world for the real engine and host.
//!
//! [`provider`] speaks the providers' dialects over real HTTP and can be cut, stalled and stepped
//! through; [`memory_store`] is a disk whose processes can be killed at any operation;
//! [`simulator`] wanders through random histories of both and checks what must always hold;
//! [`mcp`] is an MCP server that hangs, floods, lies, and dies; [`login`] is one that wants a login;
//! [`scenario`] plays a dialogue written as a string; [`program`] runs the real binary, and [`editor`] in an editor;
//! [`command_lines`] makes command lines from the flags of the installed programs; [`style`] checks texts; [`postgres`]
//! is a real database server.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

pub mod command_lines;
pub mod dice;
pub mod editor;
pub mod login;
pub mod mcp;
pub mod memory_store;
pub mod picture;
pub mod plain_workspace;
pub mod postgres;
pub mod program;
pub mod provider;
pub mod questions;
pub mod replay;
pub mod scenario;
pub mod served;
pub mod simulator;
pub mod sources;
pub mod style;
pub mod terminal;
pub mod validity;
pub mod wire;

pub use trimtab_world::store::hash as blake3_hex;
