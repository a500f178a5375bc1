//! How the terminal UI begins: with which session, colours and keys.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::layout::Size;
use trimtab_host::config::{self, Profile};
use trimtab_host::{Client, JobRow, JobState, LocalFiles};
use trimtab_vocab::{Autonomy, Mode, Problem, ProblemKind, SessionId};

use super::app::{App, AppOptions};
use super::autonomy::AutonomySwitch;
use super::composer::keep::{DraftKeeper, SaidFile};
use super::composer::{ComposerDraft, SavedComposer};
use super::executor::Executor;
use super::keys::{KEYMAP_FILE, KeyMap};
use super::last_session::LastSession;
use super::message::Cmd;
use super::notification::NotifyBy;
use super::pane::status::{PARTS, StatusLine};
use super::runtime::{Runtime, RuntimeEnd};
use super::status_command::StatusCommand;
use super::terminal::{self, RawTerminal};
use super::theme::{THEME_FILE, Theme};
use super::transcript::LineMark;
use crate::output::{Ink, StdStream};
use crate::palette::Palette;
use crate::words;

/// What a person said on the command line.
#[derive(Debug, Default)]
pub struct StartOptions {
    /// The path that requests take at first.
    pub mode: Mode,
    /// The level of autonomy of the session.
    pub autonomy: Option<Autonomy>,
    /// What the input begins with.
    pub draft: Option<String>,
    /// The session to go on with.
    pub session: Option<SessionId>,
    /// Continue with the latest one of the folder.
    pub latest: bool,
    /// What is done here goes away when it ends: there is nothing to come back to.
    pub passing: bool,
    /// The request to begin with.
    pub request: Option<String>,
}

/// Whether there is a person at a terminal.
pub fn is_there() -> bool {
    terminal::is_there()
}

/// What is wrong with the settings of the terminal UI: it would not begin with them.
pub fn check(profile: &Profile) -> Vec<Problem> {
    let (own, mut problems) = OwnFiles::read(profile);
    match KeyMap::with_file(&profile.tui.keys, &own.keymap) {
        Ok((_, wrong)) => problems.extend(wrong),
        Err(problem) => problems.push(problem),
    }
    match Theme::named(&profile.tui.theme, Palette::Plain) {
        Ok(theme) => problems.extend(theme.with_file(&own.theme).1),
        Err(problem) => problems.push(problem),
    }
    problems.extend(parts(&profile.tui.status).err());
    problems
}

/// The files beside the settings that are for the terminal UI.
#[derive(Debug, Default)]
struct OwnFiles {
    keymap: BTreeMap<String, String>,
    theme: BTreeMap<String, String>,
}

impl OwnFiles {
    /// A file that cannot be read counts as empty, and is reported.
    fn read(profile: &Profile) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut read = |name| {
            config::texts_beside(profile, name).unwrap_or_else(|problem| {
                problems.push(problem);
                BTreeMap::new()
            })
        };
        let own = Self { keymap: read(KEYMAP_FILE), theme: read(THEME_FILE) };
        (own, problems)
    }
}

/// Runs the terminal UI until the person leaves; a signal that ended it, if one did.
pub async fn run(profile: Profile, folder: String, wanted: StartOptions) -> Result<Option<i32>, Problem> {
    let client = Client::open(&profile)?.on("tui");
    let found = if profile.model.is_none() { trimtab_host::local_model(&profile).await } else { None };
    let local_files = LocalFiles::new(&profile.data);
    let last_session = LastSession::new(local_files.clone(), &folder);
    let (mode, draft, passing, autonomy) = (wanted.mode, wanted.draft.clone(), wanted.passing, wanted.autonomy);
    let request = wanted.request.clone();
    client.changes().finish_moves(&folder).await?;
    let session = which(&client, &folder, wanted, &last_session).await?;
    // The terminal is asked for its colours before anything else reads from it.
    let palette = Palette::for_theme(crate::output::StdStream::Out, &profile.tui.theme);
    let (own, mut problems) = OwnFiles::read(&profile);
    let (theme, wrong) = Theme::named(&profile.tui.theme, palette)?.with_file(&own.theme);
    problems.extend(wrong);
    let (keys, wrong) = KeyMap::with_file(&profile.tui.keys, &own.keymap)?;
    problems.extend(wrong);
    // Nothing of a folder is read before the person trusts it.
    let trusted = client.permissions().trusts(&profile, &folder).await?;
    let here = client.permissions().profile_in(profile.clone(), &folder).await;
    let limit = here.ok().and_then(|here| here.hands.autonomy_limit);
    let pills = super::executor::workflows(&client.pills(&profile, &folder).await?);
    let status = StatusLine {
        mode,
        model: profile.model.clone().unwrap_or_default(),
        effort: profile.limits.effort,
        folder: short(&folder, &profile.hands.machine.home),
        branch: trusted.then(|| trimtab_host::branch(Path::new(&folder))).flatten(),
        autonomy: AutonomySwitch::new(profile.hands.autonomy, limit),
        budget: profile.limits.budget_usd,
        parts: parts(&profile.tui.status)?,
        own: (!profile.tui.status_command.is_empty()).then(StatusCommand::default),
        directory: folder.clone(),
        ..StatusLine::default()
    };
    let taken = RawTerminal::take().map_err(unusable)?;
    let (width, height) = crossterm::terminal::size().map_err(unusable)?;
    // A terminal that does not say where its cursor is gets the live region at its bottom.
    let row = crossterm::cursor::position().map_or(height.saturating_sub(1), |(_, y)| y);
    let while_running = profile.while_running;
    let now = trimtab_host::now();
    let size = Size { width, height };
    let place = Path::new(&folder).to_owned();
    let mut app = App::new(AppOptions { theme, keys, size, now, folder: place, status, while_running, pills });
    app.launch.palette = Some(palette);
    app.launch.theme_file = own.theme;
    app.composer.set_vim(profile.tui.vim);
    app.launch.found = found.map(|found| found.line()).unwrap_or_default();
    app.transcript.show_thinking(profile.tui.shows_thinking);
    app.launch.keys_file = profile.file.with_file_name("keys.toml").display().to_string();
    // What somebody writes in another terminal is theirs.
    let drafts = match last_session.shown() {
        None => folder.clone(),
        Some(_) => format!("{folder} {}", std::process::id()),
    };
    let (kept, keeper) = DraftKeeper::open(local_files.clone(), &drafts);
    let said = SaidFile::new(local_files, &folder);
    app.composer.set_history(said.read());
    app.restore(without_arrived(&client, kept).await?);
    if let Some(draft) = draft {
        app.composer.set_draft(&ComposerDraft::new(draft));
    }
    let ending = client.clone();
    let (executor, messages) = Executor::new(client, profile.clone(), folder, keeper, said, last_session);
    let first = match session {
        Some(session) => app.begin(session, autonomy),
        None => {
            app.choose_at_start(autonomy);
            greet(&mut app, &profile, passing);
            Vec::<Cmd>::new()
        }
    };
    for problem in problems {
        let hint = problem.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        app.transcript.note(LineMark::Warning, format!("{}{hint}", problem.message));
    }
    (app.launch.passing, app.launch.auto_continue) = (passing, profile.copilot.auto_continue);
    let mut first = first;
    if let Some(request) = request {
        first.extend(app.begin_with(&request, trimtab_host::new_request()));
    }
    first.extend(app.status.news(None).map(Cmd::ShowStatus));
    let notify_by = NotifyBy::named(&profile.tui.notify, |name| std::env::var(name).ok());
    let runtime = Runtime::new(app, executor, messages, row, reflows(), taken)?.with_mouse(profile.tui.mouse);
    let ended = runtime.with_notifications(notify_by).run(first).await?;
    let commands = ending.commands().end_all().await;
    if let Some(text) = crate::words::ended_with_program(&commands) {
        // Standard error may be closed; then there is nobody to tell.
        let _ = StdStream::Err.write(&Ink::text(&format!("{text}\n")));
    }
    Ok(match ended {
        RuntimeEnd::Left => None,
        RuntimeEnd::Signal(signal) => Some(signal),
    })
}

fn unusable(error: std::io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("The terminal cannot be used: {error}."))
        .hint("`trimtab run` works without one.")
}

const GREETING: &str = "Type a request, or press ? for all keys and commands.";
// A typed `?` would join the request that the input already contains, so it comes last.
const PASSING: &str = "This is a demo in a temporary sample project.\n\
                       1. Press Enter to send the request in the input, and answer the questions.\n\
                       2. Press alt-c to see the changes and undo them.\n\
                       3. Type /auto to leave plan mode. Then type \"/subtasks Add a usage text and a license, and \
                       document both\" (pasted text never starts a command).\n\
                       While the input is empty, ? shows all keys and commands.";

fn greet(app: &mut App, profile: &Profile, passing: bool) {
    let (version, greeting) = (env!("CARGO_PKG_VERSION"), if passing { PASSING } else { GREETING });
    app.transcript.note(LineMark::Info, format!("Trimtab {version}. {greeting}"));
    match profile.ready_model() {
        Ok(_) => {}
        Err(problem) if problem.kind == ProblemKind::NoKey => {
            app.set_up();
        }
        Err(problem) => {
            let hint = problem.hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
            app.transcript.note(LineMark::Warning, format!("{}{hint}", problem.message));
        }
    }
}

/// What the line at the bottom shows, in the person's order.
fn parts(wanted: &[String]) -> Result<Vec<String>, Problem> {
    if wanted.is_empty() {
        return Ok(PARTS.iter().map(|part| (*part).to_owned()).collect());
    }
    match wanted.iter().find(|part| !PARTS.contains(&part.as_str())) {
        None => Ok(wanted.to_vec()),
        Some(part) => Err(Problem::new(ProblemKind::Settings, format!("tui.status cannot show {part}."))
            .hint(format!("It can show {}.", PARTS.join(", ")))),
    }
}

/// The session to begin with: the one that is named, or one in which something is unfinished. What another process
/// works on is its own; whoever wants to look at it finds it among the sessions.
async fn which(
    client: &Client,
    folder: &str,
    wanted: StartOptions,
    last_session: &LastSession,
) -> Result<Option<SessionId>, Problem> {
    if let Some(session) = wanted.session {
        let known = client.sessions().list(None).await?.iter().any(|row| row.id == session);
        return match known {
            true => Ok(Some(session)),
            false => Err(Problem::new(ProblemKind::NotFound, words::no_session(session))
                .hint("`trimtab sessions list --all` lists all sessions.")),
        };
    }
    // Whoever begins with a request means a new session, unless they name another one.
    if wanted.request.is_some() && !wanted.latest {
        return Ok(None);
    }
    let shown = last_session.shown();
    let is_left = |job: &JobRow| {
        let is_open = matches!(job.state, JobState::Interrupted | JobState::Queued);
        is_open && job.folder == folder && shown.as_ref() != Some(&job.session)
    };
    let open = client.requests().list(false).await?.into_iter().find(is_left);
    if let Some(job) = open {
        return Ok(Some(job.session));
    }
    if !wanted.latest {
        // One that was left by a kill or a lost terminal is on the screen again.
        let left = last_session.left();
        let rows = client.sessions().list(Some(folder)).await?;
        return Ok(left.filter(|left| rows.iter().any(|row| row.id == *left)));
    }
    match client.sessions().latest(folder).await? {
        Some(row) => Ok(Some(row.id)),
        None => {
            Err(Problem::new(ProblemKind::Usage, words::NO_SESSION_TO_CONTINUE).hint("Omit --continue to start one."))
        }
    }
}

/// What an earlier process left, without what was taken in after all before it ended.
async fn without_arrived(client: &Client, mut kept: SavedComposer) -> Result<SavedComposer, Problem> {
    let mut lost = Vec::new();
    for sending in std::mem::take(&mut kept.sending) {
        if client.requests().get(&sending.request).await?.is_none() {
            lost.push(sending);
        }
    }
    kept.sending = lost;
    Ok(kept)
}

/// A folder as a person names it.
fn short(folder: &str, home: &str) -> String {
    match folder.strip_prefix(home).filter(|_| !home.is_empty()) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => folder.to_owned(),
    }
}

/// Whether the terminal lays long lines out anew when it becomes narrower; most do.
fn reflows() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let term = std::env::var("TERM").unwrap_or_default();
    !(set("XTERM_VERSION") || term == "linux" || (term.starts_with("screen") && !set("TMUX")))
}
