//! `trimtab diff`, and how every command shows what changes: drawn on a terminal, a patch elsewhere.

use clap::Args;
use trimtab_host::Client;
use trimtab_host::compare::LineStats;
use trimtab_vocab::event::{CheckpointFact, ProposalFact};
use trimtab_vocab::format;
use trimtab_vocab::{Fact, FileWrite, Problem, ProblemKind, SessionId};

use super::changes::{HistoryArgs, at_rest, find_set};
use super::output::{print, print_exact, print_ink, sanitize};
use super::paint::Palette;
use super::{CliOutcome, place};
use crate::diff::{DiffLine, DiffView, HunkHeads, Layout, LoadedDiff, draw, stat, written};
use crate::output::{Ink, StdStream};

/// Lines that are drawn of one change; more is not read but scrolled past.
const MOST_LINES: usize = 2_000;
/// Columns where nothing says how many there are.
const COLUMNS: usize = 100;

/// How a change is shown.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct DiffFormat {
    /// Show an inline diff
    #[arg(long, conflicts_with = "side_by_side")]
    inline: bool,
    /// Show a side-by-side diff [default on terminals of 140 columns or more]
    #[arg(long)]
    side_by_side: bool,
    /// Show the whole diff, however long
    #[arg(long)]
    all: bool,
    /// Show only the files and their line counts
    #[arg(long, conflicts_with_all = ["inline", "side_by_side", "all"])]
    stat: bool,
}

impl DiffFormat {
    fn layout(&self) -> Option<Layout> {
        match (self.inline, self.side_by_side) {
            (true, _) => Some(Layout::Inline),
            (_, true) => Some(Layout::SideBySide),
            _ => None,
        }
    }
}

/// Shows changes on standard output.
pub(super) fn show(files: &[LoadedDiff], format: &DiffFormat) -> Result<(), Problem> {
    let palette = Palette::for_stream(StdStream::Out);
    if format.stat {
        let counted: Vec<(String, LineStats)> = files.iter().map(|file| (file.name(), file.patch().1)).collect();
        return print_ink(&palette.paint(&stat(&counted)));
    }
    if !StdStream::Out.is_terminal() && format.layout().is_none() {
        return files.iter().try_for_each(|file| print_exact(&sanitize_patch(&file.patch().0)));
    }
    let most = if format.all { usize::MAX } else { MOST_LINES };
    let rest = "`--all` shows all of it.";
    print_ink(&palette.paint(&drawn(files, columns(StdStream::Out), format.layout(), palette, most, rest)))
}

/// A patch without what steers a terminal; line ends stay as they are, or it would fit no file.
fn sanitize_patch(patch: &str) -> String {
    let line = |line: &str| match line.strip_suffix("\r\n") {
        Some(text) => sanitize(text).into_owned() + "\r\n",
        None => sanitize(line).into_owned(),
    };
    patch.split_inclusive('\n').map(line).collect()
}

/// The first lines of a change, as a note before a question.
pub(super) fn glimpse(files: &[LoadedDiff], most: usize, rest: &str) -> Ink {
    let palette = Palette::for_stream(StdStream::Err);
    palette.paint(&drawn(files, columns(StdStream::Err), None, palette, most, rest))
}

fn drawn(
    files: &[LoadedDiff],
    width: usize,
    layout: Option<Layout>,
    palette: Palette,
    most: usize,
    rest: &str,
) -> Vec<DiffLine> {
    let layout = DiffView::layout_for(width, layout);
    let syntax = palette != Palette::Plain;
    let mut lines: Vec<DiffLine> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            lines.push(DiffLine::default());
        }
        let left = most.saturating_sub(lines.len());
        if left == 0 {
            let mut line = DiffLine::default();
            let more = format::plural(files.len() - at, "more file");
            line.add(format!("… {more}. {rest}"), crate::diff::DiffRole::Note);
            lines.push(line);
            break;
        }
        lines.extend(draw(
            &file.change(),
            &DiffView {
                width,
                layout,
                syntax,
                most_lines: left,
                rest: rest.to_owned(),
                heads: HunkHeads::Names,
                fills: false,
            },
        ));
    }
    lines
}

/// How wide a terminal is.
fn columns(stream: StdStream) -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    stream.columns().or_else(said).unwrap_or(COLUMNS)
}

const EXAMPLES: &str = "\
Examples:
  trimtab diff           show all applied changes of the latest session
  trimtab diff 3         show change #3 from `trimtab changes`
  trimtab diff --stat    show only files and line counts";

/// What the files of a session's changes come to.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DiffArgs {
    /// Change (number or ID) or checkpoint to show [default: all applied changes]
    what: Option<String>,
    #[command(flatten)]
    format: DiffFormat,
    #[command(flatten)]
    place: HistoryArgs,
}

impl DiffArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        if let Some(what) = &self.what
            && let Some((session, writes)) = proposed(&client, what).await?
        {
            show(&LoadedDiff::load(&client, &session, &writes).await?, &self.format)?;
            return Ok(CliOutcome::Done);
        }
        let session = self.place.find(&client).await?;
        let history = at_rest(&client, &session).await?;
        let writes = match &self.what {
            Some(wanted) => find_set(&history, wanted)?.writes.clone(),
            None => history.net(),
        };
        if writes.is_empty() && StdStream::Out.is_terminal() {
            print("Nothing is changed in this session.\n")?;
        }
        show(&LoadedDiff::load(&client, &session, &writes).await?, &self.format)?;
        Ok(CliOutcome::Done)
    }
}

/// What the proposal that a checkpoint asks about would write.
async fn proposed(client: &Client, checkpoint: &str) -> Result<Option<(SessionId, Vec<FileWrite>)>, Problem> {
    for event in client.requests().checkpoints().await? {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint: id, ask, .. }) = &event.fact else { continue };
        if id.as_str() != checkpoint {
            continue;
        }
        let Some(wanted) = ask.permission().and_then(|asked| asked.proposal.as_ref()) else {
            return Err(Problem::new(ProblemKind::Usage, format!("{checkpoint} is not about files."))
                .hint("`trimtab checkpoints` shows what it asks."));
        };
        let mut last = 0;
        loop {
            let page = client.sessions().events(&event.session, last).await?;
            let Some(end) = page.last() else { return Ok(None) };
            last = end.seq.unwrap_or(last);
            for one in &page {
                if let Fact::Proposal(ProposalFact::Opened { proposal, operations, .. }) = &one.fact
                    && proposal == wanted
                {
                    return Ok(Some((event.session.clone(), written(operations))));
                }
            }
        }
    }
    Ok(None)
}
