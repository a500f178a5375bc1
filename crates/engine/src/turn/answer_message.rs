//! The message that a model gets after an answer, beside the answer's text.

use trimtab_vocab::Selection;
use trimtab_vocab::checkpoint::Ask;

use super::answers::RETRY;
use super::{series, structured};
use crate::flow;
use crate::record::{Checkpoint, Session};

/// The message to the model when the user continues without a text.
const GO_ON: &str = "Go on.";

/// The text, and the tasks that the answer chooses. Composed before the answer is folded.
pub(super) fn compose(
    session: &Session,
    answered: &Checkpoint,
    choice: &str,
    text: Option<&str>,
) -> (Option<String>, Option<Selection>) {
    let message = match answered.ask {
        Ask::Recovery { .. } => (choice == RETRY).then(|| structured::AGAIN.to_owned()),
        Ask::Commands(_) => {
            session.unfinished(&answered.request).and_then(|active| series::left_out(active, choice, text))
        }
        Ask::StepLimit => text.is_none().then(|| GO_ON.to_owned()),
        _ => return flow::message::compose(session, answered, choice, text),
    };
    (message, None)
}
