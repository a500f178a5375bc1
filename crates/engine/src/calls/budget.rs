//! The budget: before a call that could exceed it, the user is asked.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{Level, Status};
use trimtab_vocab::format::ExactDollars;
use trimtab_vocab::wording::{AnswerLabel, Notice, Objection, QuestionTitle};
use trimtab_vocab::{Part, Prompt};

use crate::questions::{self, CheckpointDraft};
use crate::record::{Checkpoint, Session};
use crate::transition::Transition;

pub(crate) use crate::record::names::choice::{RAISE, STOP};

/// A reply shorter than this is not worth asking for.
const SHORTEST_REPLY: u32 = 256;

/// The budget's decision about a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BudgetVerdict {
    /// Nothing.
    Free,
    /// Go, but the reply may not have more tokens than these.
    UpTo(u32),
    /// It could cost more than there is.
    TooDear(Bill),
}

/// The budget, what is spent, and what the call would cost at least.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bill {
    budget: f64,
    spent: f64,
    next: f64,
}

/// Judges a call by its worst case: every token of the prompt at the full price, and as long a reply
/// as it may have. The reply is bounded so that the worst case fits; if that leaves no room for one,
/// the call is too dear. A model without known prices cannot be judged.
pub(crate) fn allow(session: &Session, prompt: &Prompt) -> BudgetVerdict {
    let (Some(budget), Some(active)) = (session.budget(), session.active()) else { return BudgetVerdict::Free };
    let Some(prices) = super::model(&active.request).1.prices else { return BudgetVerdict::Free };
    let spent = session.spent();
    let input = tokens_at_most(prompt) as f64 * prices.dearest_input(prompt.long_cache) / 1_000_000.0;
    let left = budget - spent - input;
    if prices.output <= 0.0 && left >= 0.0 {
        return BudgetVerdict::Free;
    }
    let room = (left * 1_000_000.0 / prices.output).floor();
    if room < f64::from(SHORTEST_REPLY.min(prompt.max_output_tokens)) {
        let next = input + f64::from(SHORTEST_REPLY) * prices.output / 1_000_000.0;
        return BudgetVerdict::TooDear(Bill { budget, spent, next });
    }
    BudgetVerdict::UpTo(if room >= f64::from(u32::MAX) { u32::MAX } else { room as u32 })
}

/// Checks something with its own price; the bill, if it exceeds the budget.
pub(crate) fn allow_price(session: &Session, next: f64) -> Option<Bill> {
    let (budget, spent) = (session.budget()?, session.spent());
    (spent + next > budget).then_some(Bill { budget, spent, next })
}

/// Not fewer tokens than the prompt has: a token is at least one byte, however odd the text, and a
/// picture is counted as the dearest one.
fn tokens_at_most(prompt: &Prompt) -> u64 {
    const PICTURE: usize = 3_200;
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let bytes: usize = parts
        .map(|part| match part {
            Part::Text { text } => text.len(),
            Part::Thinking { text, signature, .. } => text.len() + signature.as_ref().map_or(0, String::len),
            Part::RedactedThinking { data, .. } => data.len(),
            Part::Image { .. } => PICTURE,
            Part::ToolUse(call) => call.input.to_string().len() + call.name.len() + call.id.len(),
            Part::ToolResult(result) => result.content.len() + result.tool_use_id.len(),
        })
        .sum();
    let tools: usize =
        prompt.tools.iter().map(|tool| tool.input_schema.to_string().len() + tool.description.len()).sum();
    let envelope = 16 * prompt.messages.len() + 64;
    bytes.saturating_add(tools).saturating_add(prompt.system.len()).saturating_add(envelope) as u64
}

pub(crate) fn ask(step: &mut Transition<'_>, bill: &Bill) {
    let is_worker = step.session.lineage().role.is_some();
    let title = if is_worker { QuestionTitle::WorkerBudget } else { QuestionTitle::Budget };
    let question = CheckpointDraft {
        ask: Ask::Budget { budget_usd: bill.budget, spent_usd: bill.spent, next_call_usd: bill.next },
        title: title(ExactDollars(bill.budget), ExactDollars(bill.spent), ExactDollars(bill.next)),
        choices: vec![
            questions::choice(RAISE, AnswerLabel::RaiseBudget),
            questions::choice(STOP, AnswerLabel::StopHere),
        ],
    };
    questions::ask(step, question, Status::Limit);
}

/// The text of an answer as it is recorded: of a raise, the new budget. `None`: the answer is invalid, and the user is
/// notified.
pub(crate) fn checked(
    step: &mut Transition<'_>,
    checkpoint: &Checkpoint,
    choice: &str,
    text: Option<String>,
) -> Option<Option<String>> {
    if choice != RAISE {
        return Some(text);
    }
    let (budget, spent) = match (&checkpoint.ask, &checkpoint.worker) {
        // A worker's budget is its share, which this session's own figures say nothing about.
        (Ask::Budget { budget_usd, spent_usd, .. }, Some(_)) => (*budget_usd, *spent_usd),
        _ => (step.session.largest_budget(), step.session.spent()),
    };
    let budget = new_budget(budget, spent, text.as_deref());
    if budget.is_none() {
        step.notify(&checkpoint.request, Level::Warning, Notice::Objection(Objection::NotABudget));
    }
    budget.map(|budget| Some(budget.to_string()))
}

/// What the budget becomes: the amount in the text, or twice what it was.
fn new_budget(budget: f64, spent: f64, text: Option<&str>) -> Option<f64> {
    let wanted = match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => text.trim_start_matches('$').parse().ok()?,
        None => 2.0 * budget.max(spent),
    };
    (wanted.is_finite() && wanted > spent).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trimtab_vocab::{Message, Role};

    use super::*;

    #[test]
    fn the_bound_holds_for_text_of_a_token_a_byte_and_for_proofs_of_thinking() {
        let signature = Some("s".repeat(5_000));
        let thinking = Part::Thinking { text: "hm".into(), signature, by: None };
        let messages = vec![
            Arc::new(Message::user("𓀀".repeat(1_000))),
            Arc::new(Message { role: Role::Assistant, parts: vec![thinking] }),
        ];
        assert!(tokens_at_most(&Prompt { messages, ..Prompt::default() }) >= 4_000 + 5_000);
    }
}
