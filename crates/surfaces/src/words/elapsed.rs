//! How long a request took, from the times of its events: the same value for whoever looks, live or later.

use std::time::Duration;

use trimtab_vocab::event::RequestFact;
use trimtab_vocab::{Event, Fact, Time};

/// The time that a request was worked on. What passes while it has ended for want of a person does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Elapsed {
    before: Duration,
    since: Option<Time>,
}

impl Elapsed {
    /// Takes an event of the request into account.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Received { .. } | RequestFact::Reopened {}) => self.since = Some(event.time),
            Fact::Request(RequestFact::Finished { .. }) => {
                self.before = self.at(event.time);
                self.since = None;
            }
            _ => {}
        }
    }

    /// How long it is, or was, by then.
    pub(crate) fn at(&self, now: Time) -> Duration {
        let running = self.since.map_or(0, |since| now.millis() - since.millis());
        self.before + Duration::from_millis(u64::try_from(running).unwrap_or(0))
    }

    /// Whether its beginning was seen.
    pub(crate) fn is_known(&self) -> bool {
        self.since.is_some() || !self.before.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(millis: i64, fact: serde_json::Value) -> Event {
        let mut whole = json!({"time": Time::from_millis(millis), "session": "s1", "request": "r1"});
        whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
        serde_json::from_value(whole).expect("an event")
    }

    #[test]
    fn the_time_of_a_request_is_the_time_between_its_events_without_the_wait_for_a_person() {
        let mut elapsed = Elapsed::default();
        assert!(!elapsed.is_known());
        elapsed.observe(&event(1_000, json!({"type": "request.received", "text": "x"})));
        assert_eq!(elapsed.at(Time::from_millis(1_250)), Duration::from_millis(250));
        assert_eq!(elapsed.at(Time::from_millis(900)), Duration::ZERO, "a clock may be set back");
        elapsed.observe(&event(2_234, json!({"type": "request.finished", "status": "needs_user"})));
        assert_eq!(elapsed.at(Time::from_millis(99_000)), Duration::from_millis(1_234));
        elapsed.observe(&event(50_000, json!({"type": "request.reopened"})));
        elapsed.observe(&event(50_766, json!({"type": "request.finished", "status": "completed"})));
        assert_eq!(elapsed.at(Time::from_millis(99_000)), Duration::from_millis(2_000));
    }
}
