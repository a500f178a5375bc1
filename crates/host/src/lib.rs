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

pub use client::{Answered, Client, LONGEST_TEXT, Say, Sent, Target, World};
pub use hub::Watch;
pub use stream_controller::StreamController;
pub use trimtab_world::store::{JobRow, JobState, SessionRow};

/// The models that a provider of the settings offers.
pub async fn list_models(
    profile: &config::Profile,
    provider: &str,
) -> Result<Vec<trimtab_world::models::Listed>, trimtab_vocab::Problem> {
    use trimtab_world::models::Models;
    let model = profile.registry().find(&format!("{provider}/any"))?;
    model.list().await.map_err(|fault| fault.problem)
}

/// A model that runs on this machine, if Ollama is there and has one.
pub async fn local_model(profile: &config::Profile) -> Option<String> {
    let patience = std::time::Duration::from_millis(500);
    let listed = tokio::time::timeout(patience, list_models(profile, "ollama")).await.ok()?.ok()?;
    listed.first().map(|model| format!("ollama/{}", model.name))
}

/// What time it is, for telling ages.
pub fn now() -> trimtab_vocab::Time {
    use trimtab_world::clock::Clock;
    trimtab_world::clock::SystemClock.now()
}
