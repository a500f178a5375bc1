//! How long a request took, from the times of its events: the same value live and later.

use std::time::Duration;

use trimtab_vocab::event::{BannerFact, CheckpointFact, RequestFact};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{Event, Fact, Time};

use crate::conversation::is_under_way;

/// The time that a request was worked on. What passes while it waits for its turn or for a person does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Elapsed {
    before: Duration,
    since: Option<Time>,
    has_begun: bool,
    /// It waits for the request before it.
    is_queued: bool,
    /// Questions that are open.
    asked: u32,
}

impl Elapsed {
    /// Takes an event of the request into account.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Received { .. }) => self.since = Some(event.time),
            Fact::Request(RequestFact::Reopened {}) => {
                self.since = Some(event.time);
                self.asked = 0;
            }
            Fact::Request(RequestFact::Finished { .. }) => self.stop(event.time),
            Fact::Checkpoint(CheckpointFact::Opened { .. }) => {
                self.asked += 1;
                self.stop(event.time);
            }
            Fact::Checkpoint(CheckpointFact::Resolved { .. }) => {
                self.asked = self.asked.saturating_sub(1);
                if self.asked == 0 && self.has_begun && self.since.is_none() {
                    self.since = Some(event.time);
                }
            }
            // The first words are the same, whatever the reason is.
            Fact::Banner(BannerFact { text, .. }) if !self.has_begun => {
                self.is_queued |= text.starts_with(Notice::Queued.to_string().trim_end_matches('.'));
            }
            _ => {}
        }
        let begins = is_under_way(&event.fact) && !std::mem::replace(&mut self.has_begun, true);
        if begins && std::mem::take(&mut self.is_queued) && self.since.is_some() {
            self.since = Some(event.time);
        }
    }

    fn stop(&mut self, now: Time) {
        self.before = self.at(now);
        self.since = None;
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

    #[test]
    fn neither_the_queue_nor_a_question_counts() {
        let mut elapsed = Elapsed::default();
        elapsed.observe(&event(0, json!({"type": "request.received", "text": "x"})));
        let queued = Notice::QueuedBecause("a pill is its own request".into()).to_string();
        elapsed.observe(&event(1, json!({"type": "banner", "level": "info", "text": queued})));
        let called = json!({"type": "model.called", "call": "c1", "model": "m", "attempt": 1});
        elapsed.observe(&event(60_000, called.clone()));
        assert_eq!(elapsed.at(Time::from_millis(61_000)), Duration::from_secs(1), "it waited for its turn");
        let asked = json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "clarification", "title": "?", "choices": [],
            "about": "question", "call": "c2"});
        elapsed.observe(&event(62_000, asked));
        assert_eq!(elapsed.at(Time::from_millis(90_000)), Duration::from_secs(2), "a person reads");
        elapsed.observe(&event(
            90_000,
            json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "o1", "by": "user"}),
        ));
        elapsed.observe(&event(91_000, called));
        elapsed.observe(&event(93_000, json!({"type": "request.finished", "status": "completed"})));
        assert_eq!(elapsed.at(Time::from_millis(99_000)), Duration::from_secs(5));
    }
}
