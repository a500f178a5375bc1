//! `trimtab diff`, and how every command shows what changes: drawn on a terminal, a patch elsewhere.

use std::io::{self, IsTerminal};

use clap::Args;
use trimtab_host::Client;
use trimtab_host::compare::{self, Stats};
use trimtab_vocab::event::{CheckpointFact, ProposalFact};
use trimtab_vocab::{Fact, FileState, FileWrite, Problem, ProblemKind, SessionId};

use super::changes::{Where, at_rest, find_set};
use super::output::{calm, print};
use super::paint::Palette;
use super::{Outcome, place};
use crate::diff::{FileChange, Layout, Line, State, View, draw, stat};

/// Lines that are drawn of one change; more is not read but scrolled past.
const MOST_LINES: usize = 2_000;
/// Columns where nothing says how many there are.
const COLUMNS: usize = 100;

/// How a change is shown.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Looks {
    /// Draw the two states one below the other
    #[arg(long, conflicts_with = "side_by_side")]
    inline: bool,
    /// Draw them side by side; without either, a wide terminal has them so
    #[arg(long)]
    side_by_side: bool,
    /// Draw all of it, however long
    #[arg(long)]
    all: bool,
    /// Only count lines: added, removed, and modified among both
    #[arg(long, conflicts_with_all = ["inline", "side_by_side", "all"])]
    stat: bool,
}

impl Looks {
    fn layout(&self) -> Option<Layout> {
        match (self.inline, self.side_by_side) {
            (true, _) => Some(Layout::Inline),
            (_, true) => Some(Layout::SideBySide),
            _ => None,
        }
    }
}

/// A file that changed, with its bytes.
#[derive(Debug)]
pub(crate) struct Loaded {
    path: String,
    from: Option<String>,
    before: Option<(Vec<u8>, u32)>,
    after: Option<(Vec<u8>, u32)>,
}

impl Loaded {
    /// The bytes of what was written or would be. A file that stands elsewhere unchanged was moved.
    pub(crate) async fn of(client: &Client, session: &SessionId, writes: &[FileWrite]) -> Result<Vec<Self>, Problem> {
        let hash = |state: &Option<FileState>| state.as_ref().map(|state| state.hash.clone());
        let made = |write: &FileWrite| write.before.is_none() && write.after.is_some();
        let gone = |write: &FileWrite| write.before.is_some() && write.after.is_none();
        let mut sources: Vec<&FileWrite> = writes.iter().filter(|write| gone(write)).collect();
        let mut loaded = Vec::new();
        for write in writes.iter().filter(|write| !gone(write)) {
            let moved = sources.iter().position(|source| made(write) && hash(&source.before) == hash(&write.after));
            let source = moved.map(|at| sources.remove(at));
            let before = source.map_or(&write.before, |source| &source.before);
            loaded.push(Self {
                path: write.path.clone(),
                from: source.map(|source| source.path.clone()),
                before: bytes(client, session, before).await?,
                after: bytes(client, session, &write.after).await?,
            });
        }
        for write in sources {
            let before = bytes(client, session, &write.before).await?;
            loaded.push(Self { path: write.path.clone(), from: None, before, after: None });
        }
        Ok(loaded)
    }

    /// A change that is made up.
    #[cfg(test)]
    pub(crate) fn made_up(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        let state = |bytes: &[u8]| (bytes.to_vec(), 0o644);
        Self { path: path.into(), from: None, before: before.map(state), after: after.map(state) }
    }

    pub(crate) fn change(&self) -> FileChange<'_> {
        let (before, after) = (state(&self.before), state(&self.after));
        FileChange { path: &self.path, from: self.from.as_deref(), before, after }
    }

    /// Where it is, and where it was if that was elsewhere.
    fn name(&self) -> String {
        self.from.as_ref().map_or_else(|| self.path.clone(), |from| format!("{from} → {}", self.path))
    }

    /// The change as a patch; what has no lines is said in the words of `git`, so that nothing is missing.
    fn patch(&self) -> (String, Stats) {
        let (before, after) = (state(&self.before), state(&self.after));
        let (text, stats) = compare::patch(&self.path, before.map(|state| state.bytes), after.map(|state| state.bytes));
        let from = self.from.as_ref().unwrap_or(&self.path);
        let (old, new) = (before.map(|state| state.mode & 0o7777), after.map(|state| state.mode & 0o7777));
        let mut head = Vec::new();
        if self.from.is_some() {
            head.extend([format!("rename from {from}"), format!("rename to {}", self.path)]);
        }
        match (old, new) {
            (None, Some(mode)) if text.is_empty() => head.push(format!("new file mode 100{mode:o}")),
            (Some(mode), None) if text.is_empty() => head.push(format!("deleted file mode 100{mode:o}")),
            (Some(old), Some(new)) if old != new => {
                head.extend([format!("old mode 100{old:o}"), format!("new mode 100{new:o}")]);
            }
            _ => {}
        }
        if head.is_empty() {
            return (text, stats);
        }
        (format!("diff --git a/{from} b/{}\n{}\n{text}", self.path, head.join("\n")), stats)
    }
}

fn state(side: &Option<(Vec<u8>, u32)>) -> Option<State<'_>> {
    side.as_ref().map(|(bytes, mode)| State { bytes, mode: *mode })
}

async fn bytes(
    client: &Client,
    session: &SessionId,
    state: &Option<FileState>,
) -> Result<Option<(Vec<u8>, u32)>, Problem> {
    match state {
        Some(state) => Ok(Some((client.file(session, &state.hash).await?, state.mode))),
        None => Ok(None),
    }
}

/// Shows changes on standard output.
pub(super) fn show(files: &[Loaded], looks: &Looks) -> Result<(), Problem> {
    let palette = Palette::of(&io::stdout());
    if looks.stat {
        let counted: Vec<(String, Stats)> = files.iter().map(|file| (file.name(), file.patch().1)).collect();
        return print(&palette.paint(&stat(&counted)));
    }
    if !io::stdout().is_terminal() && looks.layout().is_none() {
        return files.iter().try_for_each(|file| print(&calm_patch(&file.patch().0)));
    }
    let most = if looks.all { usize::MAX } else { MOST_LINES };
    let rest = "`--all` shows all of it.";
    print(&palette.paint(&drawn(files, columns(&io::stdout()), looks.layout(), palette, most, rest)))
}

/// A patch without what steers a terminal; line ends stay as they are, or it would fit no file.
fn calm_patch(patch: &str) -> String {
    let line = |line: &str| match line.strip_suffix("\r\n") {
        Some(text) => calm(text).into_owned() + "\r\n",
        None => calm(line).into_owned(),
    };
    patch.split_inclusive('\n').map(line).collect()
}

/// The first lines of a change, as a note before a question.
pub(super) fn glimpse(files: &[Loaded], most: usize, rest: &str) -> String {
    let palette = Palette::of(&io::stderr());
    palette.paint(&drawn(files, columns(&io::stderr()), None, palette, most, rest))
}

fn drawn(
    files: &[Loaded],
    width: usize,
    layout: Option<Layout>,
    palette: Palette,
    most: usize,
    rest: &str,
) -> Vec<Line> {
    let layout = View::layout_for(width, layout);
    let syntax = palette != Palette::Plain;
    let mut lines: Vec<Line> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            lines.push(Line::default());
        }
        let left = most.saturating_sub(lines.len());
        if left == 0 {
            let mut line = Line::default();
            let (count, plural) = (files.len() - at, if files.len() - at == 1 { "" } else { "s" });
            line.add(format!("… {count} more file{plural}. {rest}"), crate::diff::Role::Note);
            lines.push(line);
            break;
        }
        lines.extend(draw(&file.change(), &View { width, layout, syntax, most_lines: left, rest: rest.to_owned() }));
    }
    lines
}

/// How wide a terminal is.
fn columns(stream: &impl std::os::fd::AsFd) -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    terminal_size::terminal_size_of(stream).map(|size| usize::from(size.0.0)).or_else(said).unwrap_or(COLUMNS)
}

const EXAMPLES: &str = "\
Examples:
  trimtab diff           all changes of the folder's latest session that are in force
  trimtab diff 3         change #3, as `trimtab changes` numbers them
  trimtab diff --stat    only the files, with their lines";

/// What the files of a session's changes come to.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Diff {
    /// One change, by its number or id, or what a checkpoint would change; without it, all that is in force
    what: Option<String>,
    #[command(flatten)]
    looks: Looks,
    #[command(flatten)]
    place: Where,
}

impl Diff {
    pub(super) async fn go(self) -> Result<Outcome, Problem> {
        let (_, client) = place::open(&[])?;
        if let Some(what) = &self.what
            && let Some((session, writes)) = proposed(&client, what).await?
        {
            show(&Loaded::of(&client, &session, &writes).await?, &self.looks)?;
            return Ok(Outcome::Done);
        }
        let session = self.place.find(&client).await?;
        let history = at_rest(&client, &session).await?;
        let writes = match &self.what {
            Some(wanted) => find_set(&history, wanted)?.writes.clone(),
            None => history.net(),
        };
        if writes.is_empty() && io::stdout().is_terminal() {
            print("Nothing is changed in this session.\n")?;
        }
        show(&Loaded::of(&client, &session, &writes).await?, &self.looks)?;
        Ok(Outcome::Done)
    }
}

/// What the proposal that a checkpoint asks about would write.
async fn proposed(client: &Client, checkpoint: &str) -> Result<Option<(SessionId, Vec<FileWrite>)>, Problem> {
    for event in client.checkpoints().await? {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint: id, body, .. }) = &event.fact else { continue };
        if id.as_str() != checkpoint {
            continue;
        }
        let Some(wanted) = body.get("proposal").and_then(|name| name.as_str()) else {
            return Err(Problem::new(ProblemKind::Usage, format!("{checkpoint} is not about files."))
                .hint("`trimtab checkpoints` shows what it asks."));
        };
        let mut last = 0;
        loop {
            let page = client.events(&event.session, last).await?;
            let Some(end) = page.last() else { return Ok(None) };
            last = end.seq.unwrap_or(last);
            for one in &page {
                if let Fact::Proposal(ProposalFact::Opened { proposal, operations, .. }) = &one.fact
                    && proposal.as_str() == wanted
                {
                    return Ok(Some((event.session.clone(), written(operations))));
                }
            }
        }
    }
    Ok(None)
}

/// The files of a proposal's operations.
pub(crate) fn written(operations: &[serde_json::Value]) -> Vec<FileWrite> {
    operations.iter().filter_map(|one| serde_json::from_value(one.clone()).ok()).collect()
}
