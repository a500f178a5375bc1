//! The result of a command as text.

use trimtab_vocab::event::{CommandFact, ToolStatus};
use trimtab_vocab::{BackgroundEnd, CallId, ToolResult, Unobserved};

use super::{batch, guard, network};
use crate::Ran;
use crate::record::excerpt::EXIT_CODE;

/// What a model can do about a timeout.
pub(super) const MORE_TIME: &str =
    " Ask for more time with timeout_s, do less at once, or ask the user to set commands.timeouts.";

/// The text to the model about a command and its status. `more`: additional lines; `most`: bytes of the result.
pub(super) fn told(ran: &Ran, stopping: bool, limit_s: u64, more: &[String], most: usize) -> (ToolStatus, String) {
    let (status, head) = match ran {
        Ran { stopped: true, .. } if stopping => (ToolStatus::Interrupted, batch::STOPPED.to_owned()),
        Ran { stopped: true, .. } => (ToolStatus::Interrupted, ToolResult::interrupt("").content),
        Ran { not_started: Some(reason), .. } | Ran { blocked: Some(reason), .. } => {
            (ToolStatus::Error, format!("The command did not start: {reason}"))
        }
        Ran { timed_out: true, .. } if stopping => {
            (ToolStatus::Interrupted, "[Stopped by the user at its timeout. The other calls continue.]".to_owned())
        }
        Ran { timed_out: true, .. } => {
            (ToolStatus::Error, format!("Timed out after {limit_s} s and was stopped.{MORE_TIME}"))
        }
        Ran { exit_code: Some(0), .. } => (ToolStatus::Ok, format!("{EXIT_CODE}0.")),
        Ran { exit_code: Some(code), .. } => (ToolStatus::Error, format!("{EXIT_CODE}{code}.")),
        Ran { signal, .. } => (ToolStatus::Error, format!("Ended by {}.", signal_name(signal.unwrap_or(0)))),
    };
    let head = match (ran.timed_out || ran.stopped, ran.took_ms / 1000) {
        (true, _) | (_, 0) => head,
        (false, seconds) => format!("{head} It took {seconds} s."),
    };
    let network_notes = network::notes(&ran.hosts);
    let mut text = ran.notes.iter().chain(&network_notes).fold(head, |text, note| format!("{text}\n[{note}]"));
    for line in more {
        text = format!("{text}\n{line}");
    }
    if !ran.output.is_empty() {
        let room = most.min(guard::FOR_MODELS).saturating_sub(text.len() + 1);
        text = format!("{text}\n{}", guard::preview(&ran.output, ran.output_bytes, room, ran.raw.as_ref()));
    }
    (status, text)
}

/// The user's text about it.
pub(super) fn finished(
    call: &CallId,
    command: String,
    ran: &Ran,
    unobserved: Option<Unobserved>,
    background: Option<BackgroundEnd>,
) -> CommandFact {
    let mut preview = guard::preview(&ran.output, ran.output_bytes, guard::FOR_PEOPLE, ran.raw.as_ref());
    for note in ran.notes.iter().chain(&network::notes(&ran.hosts)) {
        if !preview.is_empty() && !preview.ends_with('\n') {
            preview.push('\n');
        }
        preview.push_str(&format!("[{note}]"));
    }
    CommandFact::Finished {
        call: Some(call.clone()),
        command,
        exit_code: ran.exit_code,
        signal: ran.signal.map(signal_name),
        timed_out: ran.timed_out,
        duration_ms: Some(ran.took_ms).filter(|took| *took > 0),
        preview,
        full: ran.raw.clone(),
        unobserved,
        background,
        hosts: ran.hosts.clone(),
    }
}

fn signal_name(number: i32) -> String {
    const NAMES: &[(i32, &str)] = &[
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
        (31, "SIGSYS"),
    ];
    let name = NAMES.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::excerpt::timeless;

    fn ran(output: &str) -> Ran {
        Ran { exit_code: Some(0), output: output.into(), ..Ran::default() }
    }

    #[test]
    fn ten_kilobytes_become_three_for_models_and_five_for_people() {
        let key: trimtab_vocab::RefKey = "output-r1-c1t1".parse().expect("a key");
        let long = Ran { raw: Some(key), ..ran(&"0123456789abcde\n".repeat(640)) };
        let (status, text) = told(&long, false, 30, &[], 32 * 1024);
        assert_eq!(status, ToolStatus::Ok);
        assert!(text.len() <= 3 * 1024 && text.contains(" bytes left out ...]") && text.contains("ref:output-r1-c1t1"));
        let CommandFact::Finished { preview, full, .. } = finished(&CallId::nth(1), "x".into(), &long, None, None)
        else {
            panic!("it has finished")
        };
        assert!(preview.len() <= 5 * 1024 && preview.len() > 4 * 1024 && preview.contains(" bytes left out ...]"));
        assert!(full.is_some());
        let plain = Ran { raw: None, ..long };
        assert!(!told(&plain, false, 30, &[], 32 * 1024).1.contains("ref:"), "without an archive it is simply cut");
    }

    #[test]
    fn how_it_ended_comes_first() {
        let text = |ran: &Ran| told(ran, false, 30, &[], 4096).1;
        assert_eq!(text(&Ran { took_ms: 12_345, ..ran("x\n") }), "Exit code 0. It took 12 s.\nx\n");
        assert_eq!(text(&Ran { signal: Some(11), ..Ran::default() }), "Ended by SIGSEGV.");
        let late = Ran { timed_out: true, took_ms: 32_000, signal: Some(15), ..Ran::default() };
        assert!(text(&late).starts_with("Timed out after 30 s and was stopped."), "{}", text(&late));
        assert!(told(&late, true, 30, &[], 4096).1.starts_with("[Stopped by the user at its timeout."));
        let noted = Ran { notes: vec!["2 processes were ended.".into()], ..ran("x") };
        assert_eq!(text(&noted), "Exit code 0.\n[2 processes were ended.]\nx");
        assert_eq!(timeless("Exit code 0. It took 12 s.\nx"), timeless("Exit code 0. It took 13 s.\nx"));
    }
}
