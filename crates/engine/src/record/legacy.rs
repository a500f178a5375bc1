//! What 0.1 put into a conversation where its facts did not carry the text. **Never edit this file**: sessions that
//! 0.1 wrote must fold to the conversation that they had, and `tests/old_logs.rs` holds them to it. Sentences are
//! changed in the rooms that write them, because newer facts carry what the rooms wrote.

use std::collections::BTreeSet;

use serde_json::Value;
use trimtab_vocab::event::{ReflectionEntry, ToolStatus};
use trimtab_vocab::{
    Choosable, Plan, PlanStep, Question, Requirements, Selection, Series, SeriesState, StepStatus, TaskId,
};

use super::names::choice;
use super::{BatchItem, Flow, ToolOutcome};
use crate::proposal::plan::order;

pub(super) const COMPILE: &str = "[Compile this conversation into requirements: the JSON object, and nothing else.]";

pub(super) const AGAIN: &str =
    "[Your last reply was cut off, and nothing of it was applied. Send it again, whole; in smaller parts if need be.]";

pub(super) const GO_ON: &str = "Go on.";

pub(super) const FORKED: &str = "[The user forked this conversation here: it goes on without what came after this point. Files of \
the folder may have been changed since by the session that it was forked from; read them before you rely on them.]";

pub(super) fn heading(path: &str) -> String {
    format!("[Loaded {path}]")
}

pub(super) fn moved(files: &[&str], back: bool) -> String {
    let what = if back { "took back" } else { "brought forward again" };
    format!("[The user {what} the change of {}.]", files.join(", "))
}

pub(super) fn undone(files: &[&str]) -> String {
    format!("[The user took back a part of an earlier change, in {}.]", files.join(", "))
}

pub(super) fn assessment(limit: u32) -> String {
    format!(
        "[STEP LIMIT] The {limit} steps of this request are used up. Use no more tools. Begin your reply with exactly \
         one of these lines:\n✅ GOAL ACHIEVED\n⚠ GOAL PARTIALLY ACHIEVED\nGOAL NOT ACHIEVED\nThen say in a few \
         sentences what is done, what is left, and what you would do next."
    )
}

pub(super) fn note(entries: &[ReflectionEntry]) -> String {
    entries.iter().fold("[TOOL REFLECTION]".to_owned(), |note, entry| {
        let status = match entry.status {
            ToolStatus::Ok => "ok",
            ToolStatus::Partial => "partial",
            ToolStatus::Error => "error",
            ToolStatus::Blocked | ToolStatus::Interrupted => "blocked",
        };
        format!("{note}\n- {} {status}: {} -> {}", entry.tool, entry.finding, entry.next_action)
    })
}

pub(super) fn corrected(words: &str) -> String {
    format!("[That is not quite what the user wants. They say:]\n{words}\n{COMPILE}")
}

pub(super) fn agreed(requirements: &Requirements) -> String {
    let mut text = format!("[The user agrees. What is to be done:]\n{}", requirements.summary);
    for (what, list) in [
        ("Requirements", &requirements.requirements),
        ("Decided by the user", &requirements.decisions),
        ("Not decided; make a sensible assumption and state it", &requirements.open),
    ] {
        if !list.is_empty() {
            text.push_str(&format!("\n{what}:\n- {}", list.join("\n- ")));
        }
    }
    text
}

pub(super) fn feedback_on(task: &str, words: &str) -> String {
    format!("{task}\n\nUser Feedback: {words}")
}

pub(super) fn afresh(changed: &BTreeSet<&str>) -> Option<String> {
    let files: Vec<&str> = changed.iter().copied().take(50).collect();
    (!files.is_empty()).then(|| {
        format!(
            "[The user wants a fresh start. An earlier attempt changed these files, and they are as it left them: {}]",
            files.join(", ")
        )
    })
}

/// None where the person has edited the plan as a list or by operations.
pub(super) fn sent_back(flow: &Flow, choice: &str, text: Option<&str>) -> Option<String> {
    let is_structured =
        |text: &str| text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok();
    if choice == choice::MODIFY && is_structured(text.unwrap_or_default()) {
        return None;
    }
    let outline = |plan: &Plan| {
        let line = |(number, step): (usize, &PlanStep)| format!("{}. {}", number + 1, step.title);
        plan.steps.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    };
    let so_far = flow.plan.as_ref().map(outline).unwrap_or_default();
    let version = flow.version;
    Some(match (choice, text) {
        (choice::MODIFY, Some(words)) => format!(
            "[The user wants version {version} of the plan changed:]\n{words}\n[Change what they say and leave the rest. \
             Propose the whole plan again. Version {version} was:]\n{so_far}"
        ),
        (_, reason) => {
            let reason = reason.map(|reason| format!(" They say: {reason}")).unwrap_or_default();
            format!(
                "[The user does not want version {version} of the plan.{reason}]\n[Find another way and propose a \
                 different plan. Version {version} was:]\n{so_far}"
            )
        }
    })
}

pub(super) fn step_begins(flow: &Flow, id: &str) -> Option<String> {
    let plan = flow.plan.as_ref()?;
    let order = order(plan).ok()?;
    let number = order.iter().position(|at| plan.steps[*at].id == id)? + 1;
    let (step, of) = (&plan.steps[order[number - 1]], order.len());
    let mut text = format!("[PLAN STEP {number} of {of}] {}\n", step.title);
    if !step.details.is_empty() {
        text.push_str(&format!("{}\n", step.details));
    }
    for (what, list) in [("Files", &step.files), ("Commands", &step.commands)] {
        if !list.is_empty() {
            text.push_str(&format!("{what}: {}\n", list.join(", ")));
        }
    }
    text.push_str("The user's plan:\n");
    for (step, number) in order.iter().map(|at| &plan.steps[*at]).zip(1..) {
        let mark = match flow.statuses.get(&step.id) {
            Some(StepStatus::Done) => "done",
            Some(StepStatus::Skipped) => "left out by the user",
            Some(StepStatus::Failed) => "failed",
            Some(StepStatus::Running) => "this step",
            None => "later",
        };
        text.push_str(&format!("{number}. {} ({mark})\n", step.title));
    }
    if !flow.decisions.is_empty() {
        text.push_str("What the user decided:\n");
        for decision in &flow.decisions {
            text.push_str(&format!("- {}\n", line(decision, 500)));
        }
    }
    text.push_str("Do this step and no other. If it cannot be done, begin your reply with STEP FAILED and say why. ");
    text.push_str(match number == of {
        true => "It is the last one: when it is done, sum up in a few sentences what the whole plan came to.",
        false => "When it is done, say in one or two sentences what you did.",
    });
    Some(text)
}

fn line(text: &str, most: usize) -> String {
    let is_between = |c: char| c.is_whitespace() || c.is_control();
    let mut line: String = text.split(is_between).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() > most {
        line = line.chars().take(most.saturating_sub(1)).collect();
        line.push('…');
    }
    line
}

pub(super) fn left_out(left: &[String]) -> Option<String> {
    let left: Vec<String> = left.iter().map(|command| format!("`{command}`")).collect();
    (!left.is_empty()).then(|| format!("[The user runs only a part of your commands. Not run: {}.]", left.join(", ")))
}

/// What was said of a series: of the rest that was left, or of the command that ended.
pub(super) fn of_series(series: &Series, ended: Option<&BatchItem>) -> Option<String> {
    if series.state == SeriesState::Left {
        let rest: Vec<String> = series.remaining.iter().map(|command| format!("`{command}`")).collect();
        return (!rest.is_empty()).then(|| format!("[Not run: {}.]", rest.join(", ")));
    }
    let item = ended?;
    let done = item.done()?;
    let Some(last) = series.results.last() else { return Some(String::new()) };
    let (notes, output) = parts(item, done);
    let ended =
        done.content.lines().next().filter(|line| !last.ok && line.starts_with("Exit code ")).unwrap_or_default();
    let notes = if notes.is_empty() { String::new() } else { format!("\n{notes}") };
    if series.state == SeriesState::Done {
        return Some(match done.status {
            ToolStatus::Blocked | ToolStatus::Interrupted => {
                format!("The command was not run, or not to its end: `{}`\n\n{}", last.command, done.content)
            }
            _ => feedback(&last.command, output, ended) + &notes,
        });
    }
    let mut text = series.progress(output);
    if !ended.is_empty() {
        text.push_str(&format!("\n{ended}"));
    }
    text.push_str(&notes);
    text.push_str(&reminder(series));
    Some(text)
}

fn parts<'a>(item: &'a BatchItem, done: &'a ToolOutcome) -> (&'a str, &'a str) {
    let rest = match done.content.split_once('\n') {
        Some((first, rest)) if first.starts_with("Exit code ") => rest,
        None if done.content.starts_with("Exit code ") => "",
        _ => return ("", &done.content),
    };
    let Some(output) = item.output.as_deref() else { return ("", rest) };
    match rest.strip_suffix(output) {
        Some(notes) if notes.is_empty() || notes.ends_with('\n') || output.is_empty() => (notes.trim_end(), output),
        _ => ("", rest),
    }
}

fn feedback(command: &str, output: &str, ended: &str) -> String {
    let mut fence = "```".to_owned();
    while output.contains(&fence) {
        fence.push('`');
    }
    let output = Some(output.trim_end()).filter(|output| !output.is_empty()).unwrap_or("(no output)");
    let text =
        format!("I ran the command: `{command}`\n\nOutput:\n{fence}\n{output}\n{fence}\n\nPlease analyze this output.");
    if ended.is_empty() { text } else { format!("{text}\n({ended})") }
}

fn reminder(series: &Series) -> String {
    let mut text = String::new();
    match series.remaining.is_empty() {
        true => text.push_str("\n\nAll commands have run. Say what came of them"),
        false => {
            text.push_str("\n\nThe remaining commands, in order:");
            for command in &series.remaining {
                text.push_str(&format!("\n- `{command}`"));
            }
            text.push_str("\nDecide how to go on");
        }
    }
    text.push_str(match series.remaining.is_empty() {
        true => ", or run another one with {\"verdict\":\"run\",\"command\":\"…\",\"reason\":\"…\"}.",
        false => {
            ": {\"verdict\":\"continue\",\"command\":\"\",\"reason\":\"…\"} runs the next one, \
             {\"verdict\":\"stop\",\"command\":\"\",\"reason\":\"…\"} pauses, \
             {\"verdict\":\"run\",\"command\":\"…\",\"reason\":\"…\"} runs that one first. Answer with one of these."
        }
    });
    text
}

/// The questions, and what a person answered to each.
pub(super) fn clarified(questions: &[Question], choice: &str, text: Option<&str>) -> String {
    let given = (choice == choice::SUBMIT).then(|| read(questions, text.unwrap_or_default()));
    asked(questions, given.as_deref())
}

fn asked(questions: &[Question], given: Option<&[Option<String>]>) -> String {
    let Some(given) = given else {
        let asked: Vec<String> = questions.iter().map(|question| format!("- {}", line(&question.text, 500))).collect();
        return format!(
            "[The user was asked, and does not want to answer:\n{}\nMake sensible assumptions, and state each of them.]",
            asked.join("\n")
        );
    };
    let mut text = String::from("Clarification:");
    for (question, answer) in questions.iter().zip(given) {
        let answer = answer.as_deref().unwrap_or("(not answered: make a sensible assumption, and state it)");
        text.push_str(&format!("\nQuestion: {}\nAnswer: {answer}", line(&question.text, 500)));
    }
    text
}

fn read(questions: &[Question], text: &str) -> Vec<Option<String>> {
    let text = &text[..text.floor_char_boundary(4_000 * questions.len().max(1))];
    let mut answers = vec![None; questions.len()];
    if let Ok(Value::Object(given)) = serde_json::from_str(text) {
        for (key, value) in &given {
            if let Some(at) = find(questions, key) {
                answers[at] = Some(meant(&questions[at], &pieces(value)));
            }
        }
        return answers;
    }
    let mut at = None;
    for piece in text.split(['\n', ';']) {
        let keyed = piece.split_once([':', '=', ')']).and_then(|(key, rest)| Some((find(questions, key)?, rest)));
        match (keyed, at) {
            (Some((found, rest)), _) => {
                at = Some(found);
                answers[found] = Some(rest.trim().to_owned());
            }
            (None, Some(found)) => {
                let so_far = answers[found].get_or_insert_default();
                so_far.push_str(&format!("; {}", piece.trim()));
            }
            (None, None) => break,
        }
    }
    if at.is_none() {
        // Words without a number answer the first question, and with it whatever they speak of.
        if let Some(first) = answers.first_mut() {
            *first = Some(text.trim().to_owned());
        }
    }
    for (question, answer) in questions.iter().zip(&mut answers) {
        let chosen = answer.take().map(|answer| answer.trim_end_matches([';', ' ']).to_owned());
        *answer = chosen.filter(|chosen| !chosen.is_empty()).map(|chosen| {
            let parts: Vec<String> = match question.several {
                true => chosen.split(',').map(|part| part.trim().to_owned()).collect(),
                false => vec![chosen.clone()],
            };
            meant(question, &parts)
        });
    }
    answers
}

fn find(questions: &[Question], key: &str) -> Option<usize> {
    let key = key.trim();
    let by_number = || key.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < questions.len());
    questions.iter().position(|question| question.id.eq_ignore_ascii_case(key)).or_else(by_number)
}

fn pieces(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(pieces).collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

fn meant(question: &Question, parts: &[String]) -> String {
    let title = |part: &String| {
        let is_meant = |(number, option): &(usize, &Choosable)| option.id == *part || part.parse() == Ok(number + 1);
        let chosen = question.options.iter().enumerate().find(is_meant);
        chosen.map_or_else(|| part.trim().to_owned(), |(_, option)| option.title.clone())
    };
    parts.iter().map(title).collect::<Vec<_>>().join(", ")
}

const ALL: &[&str] = &["all", "all of them", "all of these", "both", "both of them", "everything", "each of them"];

/// An answer about tasks: in words, and what it chooses.
pub(super) fn task_answer(question: &Question, choice: &str, text: Option<&str>) -> (String, Option<Selection>) {
    if choice != choice::SUBMIT {
        let words = "Do what seems best; I do not want to choose.".to_owned();
        return (words, Some(Selection::default()));
    }
    let text = text.unwrap_or_default();
    let text = text[..text.floor_char_boundary(8_000)].trim();
    let mut words = text.to_owned();
    if let Ok(Value::Object(given)) = serde_json::from_str::<Value>(text) {
        let selection: Selection = serde_json::from_value(Value::Object(given.clone())).unwrap_or_default();
        if !selection.is_empty() {
            return (chosen(question, &selection), Some(selection));
        }
        let said = given.get(&question.id).or_else(|| given.get("1")).or_else(|| given.get("text"));
        words = match said {
            Some(Value::String(said)) => said.trim().to_owned(),
            Some(Value::Array(list)) => {
                let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                list.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            _ => words,
        };
    }
    match ids(question, &words) {
        Some(ids) => {
            let selection = Selection { ids, ..Selection::default() };
            (chosen(question, &selection), Some(selection))
        }
        None => (words, None),
    }
}

fn ids(question: &Question, words: &str) -> Option<Vec<TaskId>> {
    let plain = words.trim().trim_end_matches(['.', '!']).to_lowercase();
    let id = |option: &Choosable| option.id.parse::<TaskId>().ok();
    if ALL.contains(&plain.as_str()) && !question.options.is_empty() {
        return Some(question.options.iter().filter_map(id).collect());
    }
    let titled: Vec<TaskId> =
        question.options.iter().filter(|option| option.title.to_lowercase() == plain).filter_map(id).collect();
    if !titled.is_empty() {
        return Some(titled);
    }
    let parts = plain.split([',', ' ', ';']).filter(|part| !part.is_empty() && *part != "and");
    let named: Vec<Option<TaskId>> = parts
        .map(|part| {
            let part = part.trim_start_matches('#');
            question.options.iter().find(|option| option.id == part).and_then(id)
        })
        .collect();
    (!named.is_empty()).then(|| named.into_iter().collect::<Option<Vec<_>>>()).flatten()
}

fn chosen(question: &Question, selection: &Selection) -> String {
    let mut parts: Vec<String> = selection
        .ids
        .iter()
        .map(|id| {
            let title = question.options.iter().find(|option| option.id == id.to_string()).map(|option| &option.title);
            title.map_or_else(|| format!("#{id}"), |title| format!("#{id} “{title}”"))
        })
        .collect();
    parts.extend(selection.date.map(|date| date.to_string()));
    parts.extend(selection.priority.map(|priority| format!("{} priority", priority.name())));
    parts.join(", ")
}
