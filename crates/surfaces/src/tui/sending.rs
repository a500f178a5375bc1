//! Messages on their way. Until one is known to have arrived it is kept beside the draft, so that a kill loses no words;
//! once the log or the list of requests has it, it is dropped, so that nobody finds words in the input that were said
//! already and says them a second time.

use trimtab_host::first_words;
use trimtab_vocab::RequestId;

use super::composer::{Draft, Kept, Sending};

/// What is on its way, and what an earlier process left there.
#[derive(Debug, Default)]
pub(super) struct OnTheWay {
    /// Sent by this process, the oldest first.
    sent: Vec<Sending>,
    /// Sent by an earlier one that was killed; whether it arrived, the log will say.
    unsure: Vec<Sending>,
    /// The draft that the earlier one left. It may have been sent in the last moment.
    left: Option<Sending>,
    /// Requests that were taken in and are not in the log yet, with their first words.
    accepted: Vec<(RequestId, String)>,
}

impl OnTheWay {
    /// A message goes out, `after` the last fact that was seen.
    pub(super) fn send(&mut self, draft: Draft, after: u64) {
        self.sent.push(Sending { after, draft });
    }

    /// This one has arrived, or could not be sent. Each takes its own time, so it need not be the oldest.
    pub(super) fn decided(&mut self, draft: &Draft) {
        if let Some(at) = self.sent.iter().position(|sending| sending.draft == *draft) {
            self.sent.remove(at);
        }
    }

    /// What has to outlive the program.
    pub(super) fn kept(&self) -> Vec<Sending> {
        self.unsure.iter().chain(&self.sent).cloned().collect()
    }

    /// Goes on with what an earlier process left. `accepted` are requests of the session that have not ended.
    pub(super) fn restore(&mut self, kept: &Kept, accepted: Vec<(RequestId, String)>) {
        self.unsure.clone_from(&kept.sending);
        self.left = Some(Sending { after: kept.after, draft: kept.draft.clone() });
        self.accepted = accepted;
    }

    /// A message of the log: the draft that it was made of, if that is what an earlier process left in the input.
    pub(super) fn arrived(&mut self, request: Option<&RequestId>, seq: u64, text: &str) -> Option<Draft> {
        self.accepted.retain(|(accepted, _)| Some(accepted) != request);
        self.forget(|sending| seq > sending.after && sending.draft.text() == text)
    }

    /// The log is read: the draft in the input that was taken in all the same, if it is one, and what never arrived.
    /// What was taken in and is not in the log yet will be there in a moment.
    pub(super) fn settle(&mut self) -> (Option<Draft>, Vec<Draft>) {
        let mut in_the_input = None;
        for (_, words) in std::mem::take(&mut self.accepted) {
            let said = self.forget(|sending| first_words(&sending.draft.text()) == words);
            in_the_input = in_the_input.or(said);
        }
        self.left = None;
        (in_the_input, std::mem::take(&mut self.unsure).into_iter().map(|sending| sending.draft).collect())
    }

    fn forget(&mut self, is_it: impl Fn(&Sending) -> bool) -> Option<Draft> {
        if let Some(at) = self.unsure.iter().position(&is_it) {
            self.unsure.remove(at);
            return None;
        }
        self.left.take_if(|left| is_it(left)).map(|left| left.draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restored(kept: &Kept, accepted: &[&str]) -> OnTheWay {
        let request = |(at, words): (usize, &&str)| (format!("r{at}").parse().expect("an id"), (*words).to_owned());
        let mut way = OnTheWay::default();
        way.restore(kept, accepted.iter().enumerate().map(request).collect());
        way
    }

    fn killed(draft: &str, sending: &[&str]) -> Kept {
        let sending = sending.iter().map(|text| Sending { after: 7, draft: Draft::new(*text) }).collect();
        Kept { draft: Draft::new(draft), sending, after: 7, ..Kept::default() }
    }

    #[test]
    fn what_never_arrived_comes_back_and_what_did_does_not() {
        let mut way = restored(&killed("", &["one", "two"]), &[]);
        assert_eq!(way.arrived(None, 8, "one"), None);
        assert_eq!(way.settle(), (None, vec![Draft::new("two")]));
        // The same words were said before; that was another message.
        let mut way = restored(&killed("", &["one"]), &[]);
        way.arrived(None, 7, "one");
        assert_eq!(way.settle().1, [Draft::new("one")]);
    }

    #[test]
    fn a_draft_that_was_sent_in_the_last_moment_leaves_the_input() {
        let mut way = restored(&killed("one", &[]), &[]);
        assert_eq!(way.arrived(None, 8, "two"), None);
        assert_eq!(way.arrived(None, 9, "one"), Some(Draft::new("one")));
        // Taken in, and not in the log yet.
        let mut way = restored(&killed("one", &[]), &["one"]);
        assert_eq!(way.settle(), (Some(Draft::new("one")), Vec::new()));
        // Not sent at all.
        let mut way = restored(&killed("one", &[]), &["two"]);
        assert_eq!(way.settle(), (None, Vec::new()));
    }

    #[test]
    fn what_is_on_its_way_is_kept_until_it_has_arrived() {
        let mut way = OnTheWay::default();
        way.send(Draft::new("one"), 3);
        way.send(Draft::new("two"), 3);
        assert_eq!(way.kept().len(), 2);
        // Pictures of the first are still read when the second has arrived.
        way.decided(&Draft::new("two"));
        assert_eq!(way.kept(), [Sending { after: 3, draft: Draft::new("one") }]);
        way.decided(&Draft::new("one"));
        assert_eq!(way.kept(), []);
    }
}
