//! A log that was handed out, folded again by the engine.

use serde_json::Value;
use trimtab_engine::Session;
use trimtab_vocab::{Event, SessionId};

/// The session that these events, as they were exported, come to.
///
/// # Errors
/// What cannot be read, or a gap in the numbers.
pub fn folded(session: &str, events: &[Value]) -> Result<Session, String> {
    let id: SessionId = session.parse().map_err(|error| format!("{session} is no session: {error}"))?;
    let mut folded = Session::new(id);
    for (at, value) in events.iter().enumerate() {
        let event: Event = serde_json::from_value(value.clone()).map_err(|error| format!("{error}: {value}"))?;
        if event.seq != Some(at as u64 + 1) {
            return Err(format!("event {} has the number {:?}", at + 1, event.seq));
        }
        folded.fold(event.request.as_ref(), &event.fact);
    }
    Ok(folded)
}
