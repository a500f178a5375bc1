//! Codes that are shown where the server was started and typed in the page. A script in the page or a stolen cookie
//! cannot see them. See `docs/decisions/0151-settings-are-changed-in-the-page.md`.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::Instant;
use trimtab_host::confirmation_code;

use super::access::Authenticated;
use super::failure::Failure;

/// How long a code is valid.
const VALID: Duration = Duration::from_secs(5 * 60);
/// Wrong codes after which a new one is needed.
const TRIES: u32 = 5;
/// Codes within [`WINDOW`] at most: a script must not fill the terminal.
const CODES: usize = 10;
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// Bytes of a change that are shown whole. A longer one cannot be judged in a line of a terminal.
const LONGEST: usize = 600;

/// The change that waits for its code, if one does.
pub(super) struct Confirmations {
    announce: fn(&str),
    state: Mutex<ConfirmationState>,
}

#[derive(Default)]
struct ConfirmationState {
    waiting: Option<WaitingChange>,
    issued: VecDeque<Instant>,
}

struct WaitingChange {
    /// Who asked for it.
    token: String,
    change: String,
    code: String,
    until: Instant,
    tries: u32,
}

impl Confirmations {
    pub(super) fn new(announce: fn(&str)) -> Self {
        Self { announce, state: Mutex::default() }
    }

    /// Passes if the code for exactly this change was typed. Without a code, one is shown and asked for.
    pub(super) fn check(&self, who: &Authenticated, change: &str, code: Option<&str>) -> Result<(), Failure> {
        let change = change.replace(['\n', '\r'], "\u{23ce}");
        if !who.is_local {
            return Err(refused(
                "remote",
                "This makes Trimtab less strict, which is only possible on the machine itself.",
            )
            .hint("Open the page there, or use `trimtab config set`. From here, settings can only be made stricter."));
        }
        if change.len() > LONGEST {
            return Err(refused("too_long", "This value is too long to confirm in a terminal.")
                .hint("Use `trimtab config set`, or change the settings file."));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match code {
            Some(code) => state.spend(&who.name, &change, code, Instant::now()),
            None => {
                let code = state.issue(&who.name, &change, Instant::now())?;
                (self.announce)(&format!(
                    "The page in the browser wants to {change}.\n\
                     To allow it, enter this code in the page within 5 minutes: {code}\n\
                     If you did not ask for this, enter nothing and run `trimtab token list`."
                ));
                Err(refused("confirm", "This makes Trimtab less strict. Confirm it with the code in the terminal.")
                    .hint("`trimtab serve` printed the code where it runs."))
            }
        }
    }
}

impl ConfirmationState {
    fn issue(&mut self, token: &str, change: &str, now: Instant) -> Result<String, Failure> {
        self.issued.retain(|time| now.duration_since(*time) < WINDOW);
        if self.issued.len() >= CODES {
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too many codes were requested.")
                .hint("Wait a few minutes, or use `trimtab config set`."));
        }
        self.issued.push_back(now);
        let code = confirmation_code()?;
        let (token, change, until) = (token.to_owned(), change.to_owned(), now + VALID);
        self.waiting = Some(WaitingChange { token, change, code: code.clone(), until, tries: 0 });
        Ok(code)
    }

    fn spend(&mut self, token: &str, change: &str, code: &str, now: Instant) -> Result<(), Failure> {
        let expired = || refused("code_expired", "This code is no longer valid.").hint("Request a new one.");
        let is_same = |waiting: &&mut WaitingChange| waiting.token == token && waiting.change == change;
        let waiting = self.waiting.as_mut().filter(is_same).ok_or_else(expired)?;
        if now >= waiting.until {
            self.waiting = None;
            return Err(expired());
        }
        if letters(code) == letters(&waiting.code) {
            self.waiting = None;
            return Ok(());
        }
        waiting.tries += 1;
        if waiting.tries >= TRIES {
            self.waiting = None;
            return Err(expired());
        }
        Err(refused("wrong_code", "This is not the code in the terminal.")
            .hint("Check that it belongs to this change, and try again."))
    }
}

/// A code without the signs that people leave out or add.
fn letters(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn refused(code: &'static str, message: &str) -> Failure {
    Failure::new(StatusCode::CONFLICT, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_confirms_its_own_change_once_and_for_who_asked() {
        let now = Instant::now();
        let mut state = ConfirmationState::default();
        let code = state.issue("browser-1", "set a = 1", now).expect("a code");
        assert!(state.spend("browser-1", "set a = 2", &code, now).is_err(), "another change");
        assert!(state.spend("browser-2", "set a = 1", &code, now).is_err(), "another browser");
        let typed = format!(" {} ", code.to_uppercase().replace('-', " "));
        state.spend("browser-1", "set a = 1", &typed, now).expect("as people type it");
        assert!(state.spend("browser-1", "set a = 1", &code, now).is_err(), "once");
    }

    #[test]
    fn a_code_ends_with_time_and_after_wrong_ones() {
        let now = Instant::now();
        let mut state = ConfirmationState::default();
        let code = state.issue("t", "x", now).expect("a code");
        assert!(state.spend("t", "x", &code, now + VALID).is_err());
        let code = state.issue("t", "x", now).expect("a code");
        for _ in 0..TRIES {
            assert!(state.spend("t", "x", "0000-000", now).is_err());
        }
        assert!(state.spend("t", "x", &code, now).is_err(), "after {TRIES} wrong ones");
    }

    #[test]
    fn a_script_cannot_fill_the_terminal_with_codes() {
        let now = Instant::now();
        let mut state = ConfirmationState::default();
        let issued = (0..50).filter(|_| state.issue("t", "x", now).is_ok()).count();
        assert_eq!(issued, CODES);
        assert!(state.issue("t", "x", now + WINDOW).is_ok());
    }
}
