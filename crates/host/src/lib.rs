//! Drives the engine against the world.
//!
//! A session is an actor with a durable inbox, an append-only log, and a lease. Its loop takes the waiting inputs,
//! lets the engine decide, commits the facts and the consumed inputs **in one transaction**, publishes them, and
//! starts the effects. Results of effects are new inputs. So the intent of an effect is durable before it starts, and
//! its result before anything follows from it.
//!
//! Surfaces see [`Client`] and nothing behind it. This crate must not know what a rule of the engine means, nor how a
//! store or a provider works.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

mod access;
mod actor;
mod agents;
mod assistant;
mod audit;
mod background;
mod buffers;
mod cache;
mod call_records;
mod checks;
mod client;
mod commands;
pub mod compare;
mod compose;
pub mod config;
mod effects;
mod endings;
mod extensions;
mod foreign_commands;
mod forking;
mod front_matter;
mod gallery;
mod handles;
mod history;
mod hooks;
mod hub;
mod import;
mod instructions;
mod links;
mod local_models;
mod mcp;
mod memory;
mod model_notes;
mod networks;
mod offline;
mod permissions;
mod pills;
mod prepare;
mod refs;
mod requests;
mod retention;
mod review;
mod rewind;
mod rewind_points;
mod rewind_requests;
mod roster;
mod server_lock;
mod sessions;
mod setting_changes;
mod settings_reload;
mod skills;
mod snapshot;
mod stream_controller;
mod tasks;
mod tools;
mod version_area;
mod words_elsewhere;
mod workers;
mod workspace;

pub use access::confirmation_code;
pub use actor::durable::first_words;
pub use agents::{Agents, IgnoredAgent, KnownAgent};
pub use buffers::{EditorBuffers, SilentEditor};
pub use checks::{CheckEntries, CheckStanding, Checks, KnownCheck};
pub use client::{Answered, Client, LONGEST_TEXT, SendTo, Sent, World};
pub use compose::{BROAD, ComposedRequest, Manner, NO_FOLDER, PillMiss, RequestDraft, WhenBusy, broad_hint};
pub use extensions::{Extension, ExtensionKind, ExtensionState, Extensions};
pub use gallery::refined;
pub use handles::{
    Admin, BackgroundCommands, ImageGallery, Memories, Permissions, Refs, Requests, Servers, SessionChanges, Sessions,
};
pub use history::{History, RewindRefusal, Set};
pub use hooks::{HookStanding, Hooks, IgnoredHook, KnownHook};
pub use hub::{SessionWatch, said};
pub use import::{ImportItem, ImportKind, ImportSource, ImportState};
pub use local_models::{FoundModel, local_model, local_models, model_at, remember_found};
pub use mcp::{
    CheckedServer, EditorServer, LoggedIn, LoginPrompt, LoginSettings, LoginState, PlacedServer, ServerEntry,
    ServerFile, ServerSource, ServerStanding,
};
pub use model_notes::{ModelNote, ModelNotes, OwnEntry, TestedProtocol};
pub use offline::{CommandCheck, apply_edit, check_command, recover, unanswered_by};
pub use pills::{KnownPill, PillKind, PillSource, Pills, RESERVED, WrongPill, looks_like_a_pill};
pub use retention::Expired;
pub use review::{NoDiff, ReviewDraft, ReviewSource, ReviewSubject};
pub use rewind::walk;
pub use rewind_points::{RewindDone, RewindPlan, RewindPoint};
pub use rewind_requests::Moved;
pub use server_lock::{ServerLock, running as running_server};
pub use settings_reload::LiveProfile;
pub use skills::{IgnoredSkill, KnownSkill, Skills};
pub use stream_controller::StreamController;
pub use tasks::{ApplyOperations, Imported, NotApplied, NotMoved, Skipped, TaskList, TaskMove, When, task_session};
pub use trimtab_engine::proposal::review::ReviewForm;
pub use trimtab_engine::tasks::{TaskSet, clock, operations_in};
pub use trimtab_engine::terminal::shown as terminal_text;
pub use trimtab_world::store::{AuditLine, FileSpace, JobRow, JobState, LocalFiles, SessionRow, TokenKind};
pub use trimtab_world::workspace::{branch, names};
pub use workspace::{
    CommandUpdate, Contents, CopiedFile, EndedCommand, FileNow, LocalWorkspace, SnapshotRequest, Workspace, Workspaces,
    shared_workspace,
};

/// The models that a provider of the settings offers.
pub async fn list_models(
    profile: &config::Profile,
    provider: &str,
) -> Result<Vec<trimtab_world::models::Listed>, trimtab_vocab::Problem> {
    use trimtab_world::models::ModelRegistry;
    let model = profile.registry().find(&format!("{provider}/any"))?;
    model.list().await.map_err(|fault| fault.problem)
}

/// How long a provider may take to answer whether a key is valid.
const KEY_CHECK: std::time::Duration = std::time::Duration::from_secs(15);

/// Asks a provider for its list of models with a key that is not stored yet. That costs nothing, and fails with
/// [`trimtab_vocab::ProblemKind::Auth`] if the provider does not accept the key.
pub async fn check_key(profile: &config::Profile, provider: &str, key: &str) -> Result<(), trimtab_vocab::Problem> {
    let mut profile = profile.clone();
    if let Some(known) = profile.providers.get_mut(provider) {
        known.key = Some(key.to_owned().into());
    }
    match tokio::time::timeout(KEY_CHECK, list_models(&profile, provider)).await {
        Ok(listed) => listed.map(drop),
        Err(_) => Err(trimtab_vocab::Problem::new(
            trimtab_vocab::ProblemKind::Stalled,
            format!("{provider} did not answer within {} s.", KEY_CHECK.as_secs()),
        )),
    }
}

/// The facts about a model, including those that its server reports and its work has shown.
pub async fn informed_facts(profile: &config::Profile, model: &str) -> trimtab_vocab::ModelFacts {
    use trimtab_world::clock::{Clock, SystemClock};
    let notes = ModelNotes::new(&profile.data);
    notes.informed(&profile.registry(), profile, model, profile.facts(model), SystemClock.now()).await
}

/// What this process is to be when it was started as the supervisor of a command; nothing otherwise.
/// A program that runs commands must ask this before anything else.
pub fn supervise() -> Option<std::process::ExitCode> {
    use trimtab_world::sandbox::{SUPERVISE, supervise};
    std::env::args_os().nth(1).is_some_and(|argument| argument == SUPERVISE).then(supervise::main)
}

/// Tries to break every fence that automatic commands run behind: what each keeps them from, and how it was broken or
/// why it is missing.
pub async fn prove_fences(profile: &config::Profile) -> Vec<(String, Option<String>)> {
    use trimtab_world::sandbox::run::SandboxSetup;
    let mut setup = SandboxSetup::new(std::env::vars_os());
    setup.hidden.extend(profile.hands.machine.own.iter().map(std::path::PathBuf::from));
    let proofs = trimtab_world::sandbox::prove(&setup).await;
    proofs.into_iter().map(|proof| (proof.what, proof.broken)).collect()
}

/// The limits of a command in words, according to the settings and to what this machine supports.
pub fn command_limits(profile: &config::Profile) -> String {
    let trimtab_world::sandbox::CommandLimits { memory, cpu_s, file_size, processes, .. } = profile.hands.limits;
    let amount = |limit: Option<u64>, unit: u64, name: &str| match limit {
        Some(limit) => format!("{} {name}", trimtab_vocab::format::number(limit / unit)),
        None => "no limit".to_owned(),
    };
    format!(
        "timeout {} s; per process: memory {}, CPU time {}, file size {}; processes: {} (needs namespaces, \
         does not apply to root); total memory: no limit ({})",
        profile.hands.times.timeout_s,
        amount(memory, 1 << 20, "MB"),
        amount(cpu_s, 1, "s"),
        amount(file_size, 1 << 20, "MB"),
        amount(processes, 1, "at a time"),
        trimtab_world::sandbox::group(),
    )
}

/// Sends figures to a collector that the user has named; says what went wrong, if something did.
pub async fn send_metrics(url: &str, headers: &[(String, String)], figures: &serde_json::Value) -> Result<(), String> {
    trimtab_world::telemetry::send(url, headers, figures).await
}

/// Lets this process have as many files and connections open as the system allows.
pub fn raise_file_limit() {
    trimtab_world::open_files::raise();
}

/// An ID for a new request.
pub fn new_request() -> trimtab_vocab::RequestId {
    trimtab_world::clock::request_id(&trimtab_world::clock::SystemClock)
}

/// What time it is, for telling ages.
pub fn now() -> trimtab_vocab::Time {
    use trimtab_world::clock::Clock;
    trimtab_world::clock::SystemClock.now()
}
