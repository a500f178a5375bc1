//! `trimtab doctor`: is everything as it should be?

use std::time::Duration;

use clap::Args;
use trimtab_host::config::{self, Profile};
use trimtab_host::{Client, ServerStanding};
use trimtab_vocab::event::Status;
use trimtab_vocab::format;
use trimtab_vocab::{Problem, ProblemKind};

use super::CliOutcome;
use super::output::{print, sanitize};

#[derive(Debug, Args)]
pub(super) struct Doctor {}

struct DoctorReport {
    troubles: u32,
}

impl DoctorReport {
    fn good(&self, line: &str) -> Result<(), Problem> {
        print(&format!("ok       {}\n", sanitize(line)))
    }

    fn note(&self, line: &str) -> Result<(), Problem> {
        print(&format!("note     {}\n", sanitize(line)))
    }

    fn bad(&mut self, problem: &Problem) -> Result<(), Problem> {
        self.troubles += 1;
        let hint = problem.hint.as_ref().map(|hint| format!("\n         {hint}")).unwrap_or_default();
        print(&format!("problem  {}{}\n", sanitize(&problem.message), sanitize(&hint)))
    }
}

impl Doctor {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let mut report = DoctorReport { troubles: 0 };
        report.good(&format!("trimtab {}", env!("CARGO_PKG_VERSION")))?;
        match config::load(&[]) {
            Err(problem) => report.bad(&problem)?,
            Ok(profile) => {
                let found = if profile.file.exists() { "" } else { " (does not exist, using defaults)" };
                report.good(&format!("settings: {}{found}", profile.file.display()))?;
                for name in profile.stray_variables() {
                    report.note(&format!("unknown environment variable {name}"))?;
                }
                for problem in crate::tui::check(&profile) {
                    report.bad(&problem)?;
                }
                let level = profile.hands.autonomy.unwrap_or_default();
                report.good(&format!("autonomy: {}. {}", level.name(), level.sentence()))?;
                check_models(&profile, &mut report).await?;
                check_fences(&profile, &mut report).await?;
                check_servers(&profile, &mut report).await?;
                check_store(&profile, &mut report).await?;
            }
        }
        match report.troubles {
            0 => Ok(CliOutcome::Done),
            _ => Ok(CliOutcome::Finished(Status::Failed)),
        }
    }
}

/// A provider that does not answer by then is not there.
const PATIENCE: Duration = Duration::from_secs(3);

async fn check_models(profile: &Profile, report: &mut DoctorReport) -> Result<(), Problem> {
    let mut profile = profile.clone();
    // What a request would do without a model and a key.
    let found = if profile.model.is_none() { trimtab_host::local_model(&profile).await } else { None };
    found.iter().for_each(|found| profile.use_found(found));
    let profile = &profile;
    let chosen = profile.ready_model();
    let asked = chosen.as_ref().ok().and_then(|model| model.split_once('/'));
    for (name, provider) in &profile.providers {
        let place = if provider.base_url.is_empty() {
            String::new()
        } else {
            format!(" at {}", trimtab_host::config::without_password(&provider.base_url))
        };
        let who = format!("provider {name}{place}");
        if !profile.is_set_up(name) {
            match &provider.key_env {
                Some(variable) => report.note(&format!("{who}: no key ({variable} is not set)"))?,
                None => report.good(&format!("{who}: plays recordings"))?,
            }
            continue;
        }
        if let Some(variable) = provider.extras.missing.first() {
            report.note(&format!("{who}: its settings name ${variable}, which is not set"))?;
            continue;
        }
        let named = &provider.extras.variables;
        let key = match config::key_place(profile, name) {
            Some(place) => format!("key from {place}"),
            None if !named.is_empty() => format!("headers with ${}", named.join(", $")),
            None => "needs no key".to_owned(),
        };
        let listed = tokio::time::timeout(PATIENCE, trimtab_host::list_models(profile, name)).await;
        let is_chosen = asked.is_some_and(|(provider, _)| provider == name);
        match listed {
            Ok(Ok(models)) => {
                let count = format::plural(models.len(), "model");
                report.good(&format!("{who}: {key}, reachable, {count}"))?;
                let wanted = asked.filter(|_| is_chosen).map(|(_, model)| model);
                if let Some(model) = wanted.filter(|model| !models.iter().any(|one| one.name == **model)) {
                    report.note(&format!("{name} does not list {model}; it may still accept it"))?;
                }
            }
            Ok(Err(problem)) if is_chosen && problem.kind == ProblemKind::Auth => {
                let refused = Problem::new(ProblemKind::Auth, format!("{who}: {key}. {}", problem.message));
                report.bad(&refused.hint("Replace the key there. In the terminal, `/setup` does it."))?;
            }
            Ok(Err(problem)) if is_chosen => {
                report.bad(&Problem { message: format!("{who}: {}", problem.message), ..problem })?
            }
            Ok(Err(problem)) if problem.kind == ProblemKind::Network => {
                report.note(&format!("{who}: {key}, not reachable"))?;
            }
            Ok(Err(problem)) => report.note(&format!("{who}: {key}; {}", problem.message))?,
            Err(_) if is_chosen => {
                let silent = Problem::new(ProblemKind::Network, format!("{who}: {key}, but it does not answer."));
                report.bad(&silent.hint("Check the network and the address."))?;
            }
            Err(_) => report.note(&format!("{who}: {key}, does not answer"))?,
        }
    }
    report.good(&format!("model catalog: {}", config::catalog_source()))?;
    match chosen {
        Ok(model) => {
            let facts = trimtab_host::informed_facts(profile, &model).await;
            let able = [(facts.tools, "tools"), (facts.images, "images"), (facts.thinking, "thinking")];
            let able: Vec<&str> = able.into_iter().filter_map(|(is, word)| is.then_some(word)).collect();
            let known = if facts.prices.is_some() { "" } else { "; its prices are not known" };
            if let Some(found) = &found {
                let why = "used because no model is set and no key was found";
                report.good(&format!("model server: {}; {why}", found.line()))?;
            }
            let protocol = facts.answer_protocol().name();
            let line = format!(
                "model: {model}, {}k tokens, {}, answer.protocol {protocol}{known}",
                facts.window / 1_000,
                able.join(", ")
            );
            report.good(&line)
        }
        Err(problem) => report.bad(&problem),
    }
}

/// Tries to break every fence. One that does not hold is a problem: the commands that need it ask first.
async fn check_fences(profile: &Profile, report: &mut DoctorReport) -> Result<(), Problem> {
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    for (what, broken) in trimtab_host::prove_fences(profile).await {
        match broken {
            None => report.good(&format!("sandbox: {what}"))?,
            Some(why) => match missing.iter_mut().find(|(known, _)| *known == why) {
                Some((_, whats)) => whats.push(what),
                None => missing.push((why, vec![what])),
            },
        }
    }
    for (why, whats) in missing {
        let (last, others) =
            whats.split_last().map_or((String::new(), [].as_slice()), |(last, rest)| (last.clone(), rest));
        let problem = |what: &str| Problem::new(ProblemKind::Settings, format!("sandbox: not proven: {what}"));
        for what in others {
            report.bad(&problem(what))?;
        }
        let hint = format!("{why} Until this is fixed, commands that would run automatically ask first.");
        report.bad(&problem(&last).hint(hint))?;
    }
    report.good(&format!("command limits: {}", trimtab_host::command_limits(profile)))
}

/// Connects the MCP servers that are on. A server that cannot be reached does not keep the others from being checked.
async fn check_servers(profile: &Profile, report: &mut DoctorReport) -> Result<(), Problem> {
    // The data folder is checked below.
    let Ok(client) = Client::open(profile) else { return Ok(()) };
    let folder = super::place::folder(None)?;
    let (servers, problems) = client.servers().list(profile, &folder).await?;
    for problem in problems {
        report.note(&problem)?;
    }
    for server in &servers {
        let name = &server.entry.name;
        match server.standing {
            ServerStanding::Off => report.note(&format!("MCP server {name}: off"))?,
            ServerStanding::Pending => {
                report.note(&format!("MCP server {name}: pending (`trimtab mcp enable {name}` approves it)"))?;
            }
            ServerStanding::On => match client.servers().check(server).await {
                Ok(checked) => {
                    let count = format::plural(checked.tools.len(), "tool");
                    report.good(&format!("MCP server {name}: {}, {count}", checked.about))?;
                }
                Err(problem) => report.bad(&problem)?,
            },
        }
    }
    Ok(())
}

async fn check_store(profile: &Profile, report: &mut DoctorReport) -> Result<(), Problem> {
    let client = match Client::open(profile) {
        Ok(client) => client,
        Err(problem) => return report.bad(&problem),
    };
    match client.admin().check().await {
        Err(problem) => report.bad(&problem),
        Ok(damage) if damage.is_empty() => report.good(&match profile.store_url() {
            None => format!("data folder: {}, intact", profile.data.display()),
            Some(url) => format!("store: {}, intact", trimtab_host::config::without_password(&url)),
        }),
        Ok(damage) => {
            let hint = match profile.store_url() {
                None => format!("Copy {} before anything else.", profile.data.display()),
                Some(_) => "Make a backup with pg_dump before anything else.".to_owned(),
            };
            report.bad(&Problem::new(ProblemKind::Store, damage.join("; ")).hint(hint))
        }
    }
}
