//! Matches tasks against a filter.

use trimtab_vocab::{Task, Where};

use super::TaskMap;

/// The tasks that a filter fits, by number.
pub fn filtered<'a>(tasks: &'a TaskMap, wanted: &Where) -> Vec<&'a Task> {
    let words = wanted.text.as_deref().map(words);
    tasks.values().filter(|task| fits(task, wanted, words.as_deref())).collect()
}

/// Whether a filter fits a task.
pub fn matches(task: &Task, wanted: &Where) -> bool {
    fits(task, wanted, wanted.text.as_deref().map(words).as_deref())
}

fn fits(task: &Task, wanted: &Where, words: Option<&[String]>) -> bool {
    let Where { ids, text: _, scheduled_range, priority, category, tag, completed, repeating } = wanted;
    let in_range = |range: &trimtab_vocab::ScheduledRange| match task.scheduled_for {
        Some(date) => range.contains(date),
        // A range without ends says nothing.
        None => range.from.is_none() && range.to.is_none(),
    };
    ids.as_ref().is_none_or(|ids| ids.contains(&task.id))
        && priority.is_none_or(|priority| priority == task.priority)
        && category.is_none_or(|category| category == task.category)
        && completed.is_none_or(|completed| completed == task.completed)
        && repeating.is_none_or(|repeating| repeating == task.is_repeating())
        && scheduled_range.as_ref().is_none_or(in_range)
        && tag.as_ref().is_none_or(|tag| task.tags.iter().any(|own| own.to_lowercase() == tag.to_lowercase()))
        && words.is_none_or(|words| has_words(task, words))
}

/// The words of a text in lower case.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn has_words(task: &Task, wanted: &[String]) -> bool {
    if wanted.is_empty() {
        return true;
    }
    let mut there = words(&task.title);
    there.extend(words(&task.notes));
    there.extend(task.tags.iter().flat_map(|tag| words(tag)));
    wanted.iter().all(|word| there.iter().any(|other| other.starts_with(word.as_str())))
}
