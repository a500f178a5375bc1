//! How the terminal UI begins: with which session, colours and keys.

use std::path::Path;

use ratatui::layout::Size;
use trimtab_host::config::Profile;
use trimtab_host::{Client, JobRow, JobState, LocalFiles, Pills};
use trimtab_vocab::{Applying, Mode, Problem, ProblemKind, SessionId};

use super::app::{App, AppOptions};
use super::composer::keep::{DraftKeeper, SaidFile};
use super::composer::{ComposerDraft, SavedComposer};
use super::executor::Executor;
use super::keys::KeyMap;
use super::last_session::LastSession;
use super::message::Cmd;
use super::pane::status::{PARTS, StatusLine};
use super::runtime::{Runtime, RuntimeEnd};
use super::terminal::{self, RawTerminal};
use super::theme::Theme;
use super::transcript::LineMark;
use crate::palette::Palette;
use crate::words;

/// What a person said on the command line.
#[derive(Debug, Default)]
pub struct StartOptions {
    /// The path that requests take at first.
    pub mode: Mode,
    /// What the input begins with.
    pub draft: Option<String>,
    /// The session to go on with.
    pub session: Option<SessionId>,
    /// Continue with the latest one of the folder.
    pub latest: bool,
    /// What is done here goes away when it ends: there is nothing to come back to.
    pub passing: bool,
}

/// Whether there is a person at a terminal.
pub fn is_there() -> bool {
    terminal::is_there()
}

/// What is wrong with the settings of the terminal UI: it would not begin with them.
pub fn check(profile: &Profile) -> Vec<Problem> {
    let keys = KeyMap::with(&profile.tui.keys).err();
    let theme = Theme::named(&profile.tui.theme, Palette::Plain).err();
    keys.into_iter().chain(theme).chain(parts(&profile.tui.status).err()).collect()
}

/// Runs the terminal UI until the person leaves; a signal that ended it, if one did.
pub async fn run(profile: Profile, folder: String, wanted: StartOptions) -> Result<Option<i32>, Problem> {
    let client = Client::open(&profile)?.on("tui");
    let found = if profile.model.is_none() { trimtab_host::local_model(&profile).await } else { None };
    let local_files = LocalFiles::new(&profile.data);
    let last_session = LastSession::new(local_files.clone(), &folder);
    let (mode, draft, passing) = (wanted.mode, wanted.draft.clone(), wanted.passing);
    client.changes().finish_moves(&folder).await?;
    let session = which(&client, &folder, wanted, &last_session).await?;
    // The terminal is asked for its colours before anything else reads from it.
    let palette = Palette::for_stream(crate::output::StdStream::Out);
    let theme = Theme::named(&profile.tui.theme, palette)?;
    let keys = KeyMap::with(&profile.tui.keys)?;
    // Nothing of a folder is read before the person trusts it.
    let trusted = client.permissions().trusts(&profile, &folder).await?;
    let pills = Pills::load(&profile, trusted.then_some(folder.as_str()));
    let pills = pills.list().map(|(name, pill)| (name, pill.definition.description.clone())).collect();
    let status = StatusLine {
        mode,
        model: profile.model.clone().unwrap_or_default(),
        effort: profile.limits.effort,
        folder: short(&folder, &profile.hands.machine.home),
        branch: trusted.then(|| trimtab_host::branch(Path::new(&folder))).flatten(),
        autonomy: autonomy(&profile),
        budget: profile.limits.budget_usd,
        parts: parts(&profile.tui.status)?,
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
    let (executor, messages) = Executor::new(client, profile.clone(), folder, keeper, said, last_session);
    let first = match session {
        Some(session) => app.begin(session),
        None => {
            greet(&mut app, &profile, passing);
            Vec::<Cmd>::new()
        }
    };
    (app.launch.passing, app.launch.auto_continue) = (passing, profile.copilot.auto_continue);
    let ended = Runtime::new(app, executor, messages, row, reflows(), taken)?.run(first).await?;
    Ok(match ended {
        RuntimeEnd::Left => None,
        RuntimeEnd::Signal(signal) => Some(signal),
    })
}

fn unusable(error: std::io::Error) -> Problem {
    Problem::new(ProblemKind::Internal, format!("The terminal cannot be used: {error}."))
        .hint("`trimtab run` works without one.")
}

const GREETING: &str = "Ask Trimtab to do something, or press ? for all keys and commands.";
// A typed `?` would join the request that the input already contains, so it comes last.
const PASSING: &str = "This is a demo in a temporary sample project. The input already contains a request. Press Enter to send \
                       it. When it is done, press alt-c to see the changes and undo them. Then switch to auto mode with \
                       shift-tab, and send \"/subtasks Add a usage text and a license, and document both\". While the input \
                       is empty, ? shows all keys and commands.";

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

/// What is done without asking, in two words.
fn autonomy(profile: &Profile) -> String {
    let what = match (profile.hands.files, profile.hands.commands) {
        (Applying::Auto, Applying::Auto) => "rarely asks",
        (Applying::Auto, Applying::Ask) => "asks before commands that can write",
        (Applying::Ask, Applying::Auto) => "asks before edits",
        (Applying::Ask, Applying::Ask) => "asks before everything",
    };
    what.to_owned()
}

/// Whether the terminal lays long lines out anew when it becomes narrower; most do.
fn reflows() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let term = std::env::var("TERM").unwrap_or_default();
    !(set("XTERM_VERSION") || term == "linux" || (term.starts_with("screen") && !set("TMUX")))
}
