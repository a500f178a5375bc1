//! Sub-tasks in words: the board, what moved on it, and what a user is asked about them.

use std::time::Duration;

use trimtab_vocab::format;
use trimtab_vocab::wording::SubtaskSummary;
use trimtab_vocab::{
    BreakdownOption, ExecutionOrder, Granularity, MergeConflict, MergeObstacle, StrategyOption, SubTaskPlan,
    SubtaskStatus, Time, Visible, WorkerQuestion,
};

use crate::conversation::{BoardTask, SubtaskBoard};
use crate::subtask_runs::SubtaskRunFigures;

/// Cells of a progress bar.
const BAR: usize = 20;
/// Characters of a name beside a bar: what a sub-task has cost stands in the same line, also in 80 columns.
const NAME: usize = 28;
/// Lines of each side of a conflict that a terminal shows.
const SIDE_LINES: usize = 200;
/// Lines around the place of a conflict that are shown with it.
const AROUND: usize = 3;

/// The line above the board.
pub(crate) fn heading(board: &SubtaskBoard) -> String {
    let all = board.tasks.len();
    let completed = board.tasks.iter().filter(|task| task.status == SubtaskStatus::Completed).count();
    match board.order {
        _ if board.ended.is_some() || board.tasks.iter().all(|task| task.status.is_over()) => {
            SubtaskSummary::Completed(completed, all).to_string()
        }
        None => format!("{} planned, waiting for your answer", format::plural(all, "sub-task")),
        Some(_) if all == 1 => "🔄 Running 1 sub-task...".to_owned(),
        Some(ExecutionOrder::Sequential) => format!("🔄 Running {all} sub-tasks one after the other..."),
        Some(_) => format!("🔄 Running {all} sub-tasks in parallel..."),
    }
}

fn mark(status: SubtaskStatus) -> &'static str {
    match status {
        SubtaskStatus::Pending => " ",
        SubtaskStatus::Running => "▶",
        SubtaskStatus::NeedsUser => "?",
        SubtaskStatus::Completed => "✓",
        SubtaskStatus::Failed => "✗",
        SubtaskStatus::Skipped | SubtaskStatus::Stopped => "–",
    }
}

/// How long a task has taken. Nothing runs once the request has ended.
fn took(task: &BoardTask, now: Time) -> Option<String> {
    let millis = task.ended.unwrap_or(now).millis().saturating_sub(task.began?.millis());
    Some(format::duration(Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
}

fn cost(task: &BoardTask) -> Option<String> {
    task.usage.cost_usd.filter(|cost| *cost > 0.0).map(format::dollars)
}

/// The board: a bar for each sub-task that has started, and what waits for what.
pub(crate) fn board_lines(board: &SubtaskBoard, now: Time) -> Vec<String> {
    let now = board.ended.unwrap_or(now);
    let mut lines = vec![heading(board)];
    let longest = board.tasks.iter().map(|task| task.name.chars().count()).max().unwrap_or(0).min(NAME);
    for task in &board.tasks {
        if task.status == SubtaskStatus::Pending && !task.depends_on.is_empty() && board.ended.is_none() {
            lines.push(waiting(task));
            continue;
        }
        let done = (task.progress.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR - done));
        let percent = (task.progress.clamp(0.0, 1.0) * 100.0).round();
        let more: Vec<String> = took(task, now).into_iter().chain(cost(task)).collect();
        let more = if more.is_empty() { String::new() } else { format!("  {}", more.join(" · ")) };
        let name = match task.name.chars().count() > longest {
            true => task.name.chars().take(longest - 1).chain(['…']).collect(),
            false => task.name.clone(),
        };
        lines.push(format!("{} {}. {name:longest$} {bar} {percent:>3}%{more}", mark(task.status), task.id));
    }
    lines
}

/// How a task stands, in words.
pub(crate) fn status(status: SubtaskStatus) -> &'static str {
    match status {
        SubtaskStatus::Pending => "pending",
        SubtaskStatus::Running => "running",
        SubtaskStatus::NeedsUser => "waiting for your answer",
        SubtaskStatus::Completed => "completed",
        SubtaskStatus::Failed => "failed",
        SubtaskStatus::Skipped => "skipped",
        SubtaskStatus::Stopped => "stopped",
    }
}

/// What is known of one task, a line for each fact.
pub(crate) fn task_details(task: &BoardTask) -> Vec<String> {
    let mut lines = vec![format!("{}. {}", task.id, task.name)];
    let attempt = if task.attempt > 1 { format!(", attempt {}", task.attempt) } else { String::new() };
    lines.push(format!("{}{attempt} · {}", status(task.status), task.model));
    lines.extend((!task.depends_on.is_empty()).then(|| format!("depends on {}", task.depends_on.join(", "))));
    let tokens = task.usage.input_tokens + task.usage.output_tokens;
    lines.extend((tokens > 0).then(|| format::plural(tokens, "token")));
    let reserved = task.reserved_usd.filter(|_| task.status.is_at_work());
    lines.extend(reserved.map(|reserved| format!("reserved: {}", format::dollars(reserved))));
    lines.extend(task.error.clone());
    lines.extend((!task.left_behind.is_empty()).then(|| format!("not merged: {}", task.left_behind)));
    lines.extend(task.summary.lines().map(str::to_owned));
    lines
}

/// What is said when the sub-tasks start: how many there are, and what waits for what.
pub(crate) fn started(board: &SubtaskBoard) -> Vec<String> {
    // Fast & Loose starts all of them at once.
    let waits_for_others = board.order != Some(ExecutionOrder::Parallel);
    let waits =
        |task: &&BoardTask| task.status == SubtaskStatus::Pending && !task.depends_on.is_empty() && waits_for_others;
    let waiting = board.tasks.iter().filter(waits).map(waiting);
    std::iter::once(heading(board)).chain(waiting).collect()
}

fn waiting(task: &BoardTask) -> String {
    format!("Waiting: {}. {} (depends on {})", task.id, task.name, task.depends_on.join(", "))
}

/// What happened to a sub-task, in a line.
pub(crate) fn moved(task: &BoardTask) -> Option<String> {
    let name = format!("{}. {}", task.id, task.name);
    let more: Vec<String> = task.ended.and_then(|ended| took(task, ended)).into_iter().chain(cost(task)).collect();
    let more = if more.is_empty() { String::new() } else { format!(" · {}", more.join(" · ")) };
    Some(match task.status {
        SubtaskStatus::Pending => return None,
        SubtaskStatus::Running if task.attempt > 1 => format!("▶ {name} (attempt {}, {})", task.attempt, task.model),
        SubtaskStatus::Running => format!("▶ {name} ({})", task.model),
        SubtaskStatus::NeedsUser => format!("? {name} waits for your answer"),
        SubtaskStatus::Completed => format!("✓ {name}{more}"),
        SubtaskStatus::Failed => format!("✗ {name}: {}{more}", task.error.as_deref().unwrap_or("failed")),
        SubtaskStatus::Skipped => format!("– {name} skipped"),
        SubtaskStatus::Stopped => format!("– {name} stopped{more}"),
    })
}

/// Estimate and truth of a run, in a line.
pub(crate) fn run_figures(run: &SubtaskRunFigures) -> String {
    let time = |millis| format::duration(Duration::from_millis(millis));
    let exact = |cost: f64| format::ExactDollars(cost).to_string();
    let dollars = |cost: Option<f64>| cost.map_or_else(|| "unknown cost".to_owned(), exact);
    let range = run.cost_range.map(|(least, most)| (exact(least), exact(most))).filter(|(least, most)| least != most);
    let range = range.map(|(least, most)| format!(" ({least} to {most})")).unwrap_or_default();
    let basis = if run.from_records { "" } else { ", from typical usage" };
    let actual = if run.finished { "actual" } else { "so far" };
    format!(
        "{}: estimated {}{range} in {}{basis}; {actual} {} in {}",
        format::Plural::new(run.tasks as u64, "sub-task"),
        dollars(run.estimated_cost),
        time(run.estimated_time_ms),
        dollars(run.actual_cost),
        time(run.actual_time_ms),
    )
}

/// Whose question it is.
pub(crate) fn asks(worker: &WorkerQuestion) -> String {
    format!("Sub-task {}: {} asks", worker.subtask, Visible::line(&worker.name))
}

/// The ways to break a request down.
pub(crate) fn breakdown(options: &[BreakdownOption], suggested: Granularity, reason: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (letter, option) in ('A'..).zip(options) {
        let (name, hint) = match option.granularity {
            Granularity::Fine => ("Fine-grained", " (Recommended)"),
            Granularity::Medium => ("Medium", ""),
            Granularity::Coarse => ("Coarse", ""),
        };
        let risk = (option.truncation_risk * 100.0).round();
        lines.push(format!(
            "{letter}) {name}{hint}: {}, ~{} each, truncation risk {risk}%",
            format::plural(option.tasks, "sub-task"),
            format::plural(option.tokens_each, "token")
        ));
        lines.push(format!("     {}", option.notes.join(" · ")));
    }
    let name = match suggested {
        Granularity::Fine => 'A',
        Granularity::Medium => 'B',
        Granularity::Coarse => 'C',
    };
    lines.push(format!("“Let AI decide” would choose {name}: {reason}."));
    lines
}

/// The plan and the ways to carry it out.
pub(crate) fn execution(plan: &SubTaskPlan, strategies: &[StrategyOption]) -> Vec<String> {
    let mut lines = Vec::new();
    for task in &plan.tasks {
        lines.push(format!("{}. {} ({})", task.id, task.name(), task.model));
        lines
            .extend((!task.context_files.is_empty()).then(|| format!("     files: {}", task.context_files.join(", "))));
        lines.extend((!task.depends_on.is_empty()).then(|| format!("     after {}", task.depends_on.join(", "))));
    }
    for (letter, option) in ('A'..).zip(strategies) {
        let name = match option.execution_order {
            ExecutionOrder::DependencyGraph => "Parallel (Recommended)",
            ExecutionOrder::Sequential => "Sequential",
            ExecutionOrder::Parallel => "Fast & Loose",
        };
        let cost = option.cost_usd.map_or_else(|| "unknown".to_owned(), format::dollars);
        let speed = "⚡".repeat(option.speed as usize);
        lines.push(format!("{letter}) {name}  Speed: {speed}  Cost: {cost}  Risk: {}", option.risk));
        lines.push(format!("     {}", option.note));
    }
    if let Some((least, most)) = plan.cost_range {
        let basis = if plan.from_records { "from your earlier calls" } else { "from typical usage" };
        let (least, most) = (format::dollars(least), format::dollars(most));
        let range = if least == most { least } else { format!("{least} to {most}") };
        lines.push(format!("Estimated cost: {range} ({basis})."));
    }
    lines
}

/// How many lines are the same at the beginning of all sides, and at their end.
fn shared_lines(sides: [&[&str]; 3]) -> (usize, usize) {
    let [base, ours, theirs] = sides;
    let least = sides.iter().map(|side| side.len()).min().unwrap_or(0);
    let is_same = |at: usize| base[at] == ours[at] && base[at] == theirs[at];
    let first = (0..least).take_while(|at| is_same(*at)).count();
    let is_same = |back: &usize| {
        let line = |side: &[&str]| side[side.len() - 1 - back].to_owned();
        line(base) == line(ours) && line(base) == line(theirs)
    };
    (first, (0..least - first).take_while(is_same).count())
}

/// Both sides of a conflict, and what they started from: where they differ, with a few lines around it.
pub(crate) fn conflict(conflict: &MergeConflict) -> Vec<String> {
    let sides = [&conflict.base, &conflict.ours, &conflict.theirs].map(|side| side.lines().collect::<Vec<_>>());
    let (first, last) = shared_lines([&sides[0], &sides[1], &sides[2]]);
    let (before, after) = (first.saturating_sub(AROUND), last.saturating_sub(AROUND));
    let same = |count: usize| (count > 0).then(|| format!("  | … {}", format::plural(count, "unchanged line")));
    let side = |name: &str, all: &[&str]| {
        let mut lines = vec![format!("{name}:")];
        let part = &all[before..all.len() - after];
        lines.extend(same(before));
        lines.extend(part.iter().take(SIDE_LINES).map(|line| format!("  | {line}")));
        let left = part.len().saturating_sub(SIDE_LINES);
        lines.extend((left > 0).then(|| format!("  | … {left} more lines")));
        lines.extend(same(after));
        lines
    };
    let first_name = match conflict.against.last() {
        Some(id) => format!("A, sub-task {id}"),
        None => "A, in the folder".to_owned(),
    };
    let second = format!("B, sub-task {}", conflict.subtask);
    [side("Before", &sides[0]), side(&first_name, &sides[1]), side(&second, &sides[2])].concat()
}

/// The files that stand in the way of a merge. The answers name only the first of them.
pub(crate) fn obstacle(MergeObstacle { files, others, .. }: &MergeObstacle) -> Vec<String> {
    let list = |head: &str, files: &[String]| {
        let more = files.len().saturating_sub(SIDE_LINES);
        let shown = files.iter().take(SIDE_LINES).map(|file| format!("  {file}"));
        let more = (more > 0).then(|| format!("  … {}", format::plural(more, "more file")));
        let head = (!files.is_empty()).then(|| head.to_owned());
        head.into_iter().chain(shown).chain(more).collect::<Vec<_>>()
    };
    [list("Cannot be merged:", files), list("To merge them, leave out:", others)].concat()
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::event::SubtaskFact;
    use trimtab_vocab::{SubTask, Usage};

    use super::*;

    fn task(id: &str, title: &str, depends_on: &[&str]) -> SubTask {
        let depends_on = depends_on.iter().map(|id| (*id).to_owned()).collect();
        SubTask { id: id.into(), title: title.into(), instruction: title.into(), depends_on, ..SubTask::default() }
    }

    fn board(progress: f64, status: SubtaskStatus) -> Vec<String> {
        let plan = SubTaskPlan {
            tasks: vec![
                task("1", "Create user model", &[]),
                task("2", "Create login route", &[]),
                task("3", "Create auth middleware", &["1", "2"]),
            ],
            ..SubTaskPlan::default()
        };
        let mut board = SubtaskBoard { order: Some(ExecutionOrder::DependencyGraph), ..SubtaskBoard::default() };
        board.plan(&plan);
        let fact = SubtaskFact {
            subtask: "1".into(),
            status,
            progress,
            depends_on: Vec::new(),
            model: "m".into(),
            usage: Usage { cost_usd: Some(0.0123), ..Usage::default() },
            worker: None,
            attempt: 1,
            summary: None,
            writes: Vec::new(),
            error: None,
            reserved_usd: None,
            copy: None,
            left_behind: Default::default(),
        };
        board.moved(&fact, Time::from_millis(1_000));
        board_lines(&board, Time::from_millis(13_000))
    }

    #[test]
    fn the_board_shows_a_bar_for_each_and_what_waits_for_what() {
        insta::assert_snapshot!(board(0.0, SubtaskStatus::Running).join("\n"), @r"
        🔄 Running 3 sub-tasks in parallel...
        ▶ 1. Create user model      ░░░░░░░░░░░░░░░░░░░░   0%  12 s · $0.01
          2. Create login route     ░░░░░░░░░░░░░░░░░░░░   0%
        Waiting: 3. Create auth middleware (depends on 1, 2)
        ");
        insta::assert_snapshot!(board(0.5, SubtaskStatus::Running).join("\n"), @r"
        🔄 Running 3 sub-tasks in parallel...
        ▶ 1. Create user model      ██████████░░░░░░░░░░  50%  12 s · $0.01
          2. Create login route     ░░░░░░░░░░░░░░░░░░░░   0%
        Waiting: 3. Create auth middleware (depends on 1, 2)
        ");
        insta::assert_snapshot!(board(1.0, SubtaskStatus::Completed).join("\n"), @r"
        🔄 Running 3 sub-tasks in parallel...
        ✓ 1. Create user model      ████████████████████ 100%  0 ms · $0.01
          2. Create login route     ░░░░░░░░░░░░░░░░░░░░   0%
        Waiting: 3. Create auth middleware (depends on 1, 2)
        ");
    }

    #[test]
    fn the_dialogs_show_numbers_and_what_speaks_for_each_way() {
        let option = |granularity, tasks, tokens_each, truncation_risk, notes: &[&str]| BreakdownOption {
            granularity,
            tasks,
            tokens_each,
            truncation_risk,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        };
        let options = [
            option(
                Granularity::Fine,
                12,
                200,
                0.01,
                &["Lowest truncation risk", "Best parallelism", "More API overhead"],
            ),
            option(Granularity::Medium, 5, 480, 0.03, &["Good balance", "Moderate truncation risk"]),
            option(Granularity::Coarse, 2, 1_200, 0.08, &["Fewer API calls", "Higher truncation risk"]),
        ];
        let lines = breakdown(&options, Granularity::Medium, "5 sub-tasks, with a truncation risk of 3%");
        insta::assert_snapshot!(lines.join("\n"), @r"
        A) Fine-grained (Recommended): 12 sub-tasks, ~200 tokens each, truncation risk 1%
             Lowest truncation risk · Best parallelism · More API overhead
        B) Medium: 5 sub-tasks, ~480 tokens each, truncation risk 3%
             Good balance · Moderate truncation risk
        C) Coarse: 2 sub-tasks, ~1,200 tokens each, truncation risk 8%
             Fewer API calls · Higher truncation risk
        “Let AI decide” would choose B: 5 sub-tasks, with a truncation risk of 3%.
        ");
        let strategy = |execution_order, speed, risk: &str, note: &str| StrategyOption {
            execution_order,
            speed,
            cost_usd: Some(0.12),
            risk: risk.into(),
            note: note.into(),
        };
        let strategies = [
            strategy(
                ExecutionOrder::DependencyGraph,
                2,
                "Medium",
                "4 tasks run simultaneously, 1 waits for dependencies",
            ),
            strategy(ExecutionOrder::Sequential, 1, "Low", "Safest option, but takes longer"),
            strategy(ExecutionOrder::Parallel, 3, "High", "All parallel, may need conflict resolution"),
        ];
        let plan = SubTaskPlan {
            tasks: vec![task("1", "Create user model", &[]), task("2", "Create auth middleware", &["1"])],
            cost_range: Some((0.06, 0.36)),
            ..SubTaskPlan::default()
        };
        insta::assert_snapshot!(execution(&plan, &strategies).join("\n"), @r"
        1. Create user model ()
        2. Create auth middleware ()
             after 1
        A) Parallel (Recommended)  Speed: ⚡⚡  Cost: $0.12  Risk: Medium
             4 tasks run simultaneously, 1 waits for dependencies
        B) Sequential  Speed: ⚡  Cost: $0.12  Risk: Low
             Safest option, but takes longer
        C) Fast & Loose  Speed: ⚡⚡⚡  Cost: $0.12  Risk: High
             All parallel, may need conflict resolution
        Estimated cost: $0.06 to $0.36 (from typical usage).
        ");
    }
}
