//! Drives the engine against the world.
//!
//! A session is an actor with a durable inbox, an append-only log and a lease. Its loop: take the
//! inputs that wait, let the engine decide, make facts and the taking of inputs durable **in one
//! transaction**, publish, start the effects; their results are new inputs. So an effect's intent
//! is durable before it starts, and its result before anything follows from it.
//!
//! Surfaces see [`Client`] and nothing behind it. This crate must not know what a rule of the
//! engine means, nor how a store or a provider does what it does.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

mod actor;
mod client;
pub mod config;
mod effects;
mod hub;
mod roster;
mod stream_controller;

pub use client::{Client, LONGEST_TEXT, Say, Sent, Target, World};
pub use hub::Watch;
pub use stream_controller::StreamController;
pub use trimtab_world::store::{JobRow, JobState, SessionRow};
