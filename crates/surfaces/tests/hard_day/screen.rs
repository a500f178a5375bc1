//! Somebody at a terminal: types, sends, answers, and starts the program again when it is gone.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use trimtab_testkit::dice::Dice;
use trimtab_testkit::terminal::Terminal;

use crate::brain::job_in;
use crate::day::{Day, says_panic, wait_until};
use crate::people;

const ENTER: &str = "\r";

/// Works in a terminal until the day is over.
pub(crate) fn work(day: &Day, folder: &Path) {
    let mut dice = day.dice("terminal");
    while !day.is_over() {
        let mut terminal = Terminal::start(&day.program, &["--dir", folder.to_str().expect("a path")], 100, 30);
        day.count("terminals");
        let rounds = 1 + dice.below(6);
        for _ in 0..rounds {
            if day.is_over() || !say(day, &mut dice, folder, &mut terminal) {
                break;
            }
        }
        let was_struck = day.book().struck.contains(&terminal.id());
        if !was_struck && dice.once_in(2) && !is_kept(day, "job-") {
            // Ctrl-C leaves. It empties the input first, so only somebody who has nothing there leaves like this.
            for _ in 0..4 {
                terminal.press("\x03");
                std::thread::sleep(Duration::from_millis(60));
            }
        }
        let text = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        if says_panic(&text) {
            day.wrong(format!("the terminal UI panicked:\n{}", terminal.all()));
        }
    }
}

/// What is kept of what is typed.
pub(crate) fn is_kept(day: &Day, words: &str) -> bool {
    let files = std::fs::read_dir(day.program.home().join("drawer")).into_iter().flatten().flatten();
    let drafts = files.filter(|file| file.file_name().to_string_lossy().starts_with("draft-"));
    // What is typed while a question is up belongs to the question.
    let kept = drafts.filter_map(|file| std::fs::read_to_string(file.path()).ok()).filter_map(|text| {
        let kept: Value = serde_json::from_str(&text).ok()?;
        Some(format!("{} {} {}", kept["draft"], kept["stash"], kept["sending"]))
    });
    kept.into_iter().any(|kept| kept.contains(words))
}

/// Says one thing, and waits a while for its end. Whether the terminal is still there.
fn say(day: &Day, dice: &mut Dice, folder: &Path, terminal: &mut Terminal) -> bool {
    let began = Instant::now();
    let ready = wait_until(Duration::from_secs(60), || terminal.screen().contains('›') || has_ended(terminal));
    if !ready || has_ended(terminal) {
        if !ready && !day.was_full(began) {
            day.wrong(format!("the terminal UI does not come up:\n{}", terminal.all()));
        }
        return false;
    }
    // A question first, if one waits from the last time: words are not for it.
    answer(dice, terminal);
    people::answer_in(day, folder);
    let draft = terminal.screen().lines().rev().find(|line| line.contains('›')).and_then(job_in).map(str::to_owned);
    let job = match draft {
        // What was typed before the program was killed is there again.
        Some(job) => job,
        None => {
            let (job, words) = day.any_job(dice);
            terminal.press(&words);
            let is_kept = || is_kept(day, &job);
            if !wait_until(Duration::from_secs(5), || is_kept() || has_ended(terminal)) || !is_kept() {
                return !has_ended(terminal);
            }
            day.book().jobs.entry(job.clone()).or_default().typed = true;
            job
        }
    };
    terminal.press(ENTER);
    let said = format!("It is done: {job}");
    let until = Instant::now() + Duration::from_millis(2000 + dice.below(6000));
    while Instant::now() < until && !day.is_over() && !has_ended(terminal) {
        if terminal.screen().contains(&said) {
            break;
        }
        answer(dice, terminal);
        if dice.once_in(100) {
            terminal.resize(60 + dice.below(80) as u16, 20 + dice.below(20) as u16);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    !has_ended(terminal)
}

/// Answers what asks, if something does.
fn answer(dice: &mut Dice, terminal: &Terminal) {
    let asks = || {
        let screen = terminal.screen();
        // Keys that come with a question do not answer it; it says when they do.
        screen.contains("Run this command?") && screen.contains("enter to answer")
    };
    if asks() && dice.once_in(2) {
        terminal.press("1");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn has_ended(terminal: &mut Terminal) -> bool {
    terminal.has_ended()
}
