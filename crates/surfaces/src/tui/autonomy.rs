//! The level of autonomy on the screen: what is recorded, what the person chose, and what is on its way.

use trimtab_vocab::{Autonomy, Mode, Time};

/// How long a raise waits for the next key, because the user may be on the way to another level.
const PAUSE: i64 = 700;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AutonomySwitch {
    /// The level of the settings, and the most that the folder allows.
    of_settings: Option<Autonomy>,
    pub(super) limit: Option<Autonomy>,
    /// The level that was chosen in the session.
    recorded: Option<Autonomy>,
    /// A choice that was sent and is not recorded yet.
    sent: Option<Autonomy>,
    /// A choice that was not sent yet, and when it is; absent: with the next message.
    picked: Option<Autonomy>,
    due: Option<Time>,
}

impl AutonomySwitch {
    pub(super) fn new(of_settings: Option<Autonomy>, limit: Option<Autonomy>) -> Self {
        Self { of_settings, limit, ..Self::default() }
    }

    /// What is known of another session is not true of this one. A new one begins with the settings.
    pub(super) fn begin_session(&mut self) {
        *self = Self::new(self.of_settings, self.limit);
    }

    /// The choice as the session has it, or will have it.
    fn settled(&self) -> Autonomy {
        self.sent.or(self.recorded).or(self.of_settings).unwrap_or_default()
    }

    /// The choice, whether or not the folder allows it.
    pub(super) fn chosen(&self) -> Autonomy {
        self.picked.unwrap_or_else(|| self.settled())
    }

    /// The level that is shown.
    pub(super) fn level(&self) -> Autonomy {
        self.chosen().within(self.limit)
    }

    /// What the key chooses next: careful, standard, trusting, plan. A plan is carried out at *standard*, because nobody
    /// means the level that they have just passed.
    pub(super) fn next(&self, mode: Mode) -> (Mode, Autonomy) {
        match (mode, self.chosen()) {
            (Mode::Plan, _) => (Mode::Auto, Autonomy::Careful),
            (mode, Autonomy::Careful) => (mode, Autonomy::Standard),
            (mode, Autonomy::Standard) => (mode, Autonomy::Trusting),
            (_, Autonomy::Trusting) => (Mode::Plan, Autonomy::Standard),
        }
    }

    /// The person chooses a level. Returns it if it is to be sent now: what asks more counts at once.
    pub(super) fn pick(&mut self, level: Autonomy, now: Time, in_session: bool, waits: bool) -> Option<Autonomy> {
        (self.picked, self.due) = (None, None);
        if level == self.settled() {
            return None;
        }
        self.picked = Some(level);
        if in_session && waits && level > self.settled() {
            self.due = Some(Time::from_millis(now.millis() + PAUSE));
            return None;
        }
        in_session.then(|| self.take()).flatten()
    }

    /// The choice whose time has come.
    pub(super) fn due(&mut self, now: Time) -> Option<Autonomy> {
        self.due.filter(|due| due.millis() <= now.millis()).and_then(|_| self.take())
    }

    /// Whether a choice waits for its time.
    pub(super) fn is_waiting(&self) -> bool {
        self.due.is_some()
    }

    /// The choice that was not sent yet, which is on its way from here on.
    pub(super) fn take(&mut self) -> Option<Autonomy> {
        self.due = None;
        let level = self.picked.take()?;
        self.sent = Some(level);
        Some(level)
    }

    /// What was sent did not arrive.
    pub(super) fn failed(&mut self) {
        self.picked = self.picked.or(self.sent.take());
    }

    pub(super) fn record(&mut self, level: Autonomy) {
        self.recorded = Some(level);
        self.sent = self.sent.filter(|sent| *sent != level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn the_key_goes_through_the_levels_and_to_plan() {
        let mut switch = AutonomySwitch::default();
        let mut mode = Mode::Auto;
        let mut seen = Vec::new();
        for _ in 0..4 {
            let (next, level) = switch.next(mode);
            mode = next;
            switch.pick(level, at(0), false, true);
            seen.push((mode, switch.level()));
        }
        let expected = [
            (Mode::Auto, Autonomy::Trusting),
            (Mode::Plan, Autonomy::Standard),
            (Mode::Auto, Autonomy::Careful),
            (Mode::Auto, Autonomy::Standard),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_raise_waits_and_a_level_that_is_only_passed_is_never_sent() {
        let mut switch = AutonomySwitch::default();
        assert_eq!(switch.pick(Autonomy::Trusting, at(0), true, true), None);
        assert_eq!((switch.level(), switch.due(at(100))), (Autonomy::Trusting, None));
        assert_eq!(switch.pick(Autonomy::Standard, at(200), true, true), None, "the session has it already");
        assert_eq!(switch.due(at(5_000)), None);
        assert_eq!(switch.pick(Autonomy::Careful, at(300), true, true), Some(Autonomy::Careful), "at once");
        switch.record(Autonomy::Careful);
        assert_eq!(switch.pick(Autonomy::Trusting, at(400), true, true), None);
        assert_eq!(switch.due(at(1_200)), Some(Autonomy::Trusting));
        assert_eq!(
            switch.pick(Autonomy::Careful, at(1_201), true, true),
            Some(Autonomy::Careful),
            "also while it is on its way"
        );
    }

    #[test]
    fn a_limit_of_the_folder_is_shown_and_a_failed_choice_is_sent_again() {
        let mut switch = AutonomySwitch::new(None, Some(Autonomy::Careful));
        assert_eq!(switch.pick(Autonomy::Trusting, at(0), true, false), Some(Autonomy::Trusting));
        assert_eq!(switch.level(), Autonomy::Careful);
        switch.failed();
        assert_eq!(switch.take(), Some(Autonomy::Trusting));
    }
}
