//! The effect of a call's purpose: which model makes it, and how often it is tried.

use trimtab_vocab::{AskPurpose, Purpose};

/// Whether the fast model makes it.
pub(crate) fn is_small(purpose: &Purpose) -> bool {
    match purpose {
        Purpose::Route | Purpose::Summary | Purpose::Repair | Purpose::ImagePrompts => true,
        Purpose::Subtasks | Purpose::Merge => false,
        Purpose::Ask(ask) => matches!(ask, AskPurpose::Route | AskPurpose::Repair | AskPurpose::Summary),
        Purpose::Turn | Purpose::Requirements | Purpose::Other(_) => false,
    }
}

/// Whether one try is enough, because the request continues without it: the path, the prompts and the repair have a
/// default. A summary is tried again, because without it only the first words of each message are left.
pub(crate) fn is_dispensable(purpose: &Purpose) -> bool {
    is_small(purpose) && *purpose != Purpose::Summary
}
