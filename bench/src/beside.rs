//! Two builds of the program, side by side: `beside OTHER` measures this binary and another one, for example that of an
//! earlier version, and prints ratios.
//!
//! Both are measured by turns, and the one that begins changes each time, so that what else the machine does meets both.
//! A ratio of 1.00 means equally fast; below it, this binary is faster. The quartiles are those of the ratios of the
//! single turns: where 1.00 lies between them, the difference is noise.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

use crate::table::median;
use crate::{cancel, rounds, startup, watch};

/// How often each pair is measured, unless `TRIMTAB_BENCH_PAIRS` says otherwise.
const PAIRS: usize = 41;
/// How many rounds of model and tool the log that is replayed has.
const LOGGED_ROUNDS: usize = 400;

/// One thing that is measured, in milliseconds for each binary.
struct Pairing<'a> {
    ours: &'a Path,
    theirs: &'a Path,
    pairs: usize,
}

pub fn run(ours: &Path, theirs: &Path) {
    let pairs = std::env::var("TRIMTAB_BENCH_PAIRS").ok().and_then(|text| text.parse().ok()).unwrap_or(PAIRS);
    let pairing = Pairing { ours, theirs, pairs };
    println!("{:<46} {:>10} {:>10} {:>7} {:>13}", "", "this", "other", "ratio", "quartiles");
    pairing.compare("--version", 1, startup::bare);
    pairing.compare("process start to first request, new data", 1, |binary| startup::turns(binary).first);
    pairing.compare("process start to first request, old data", 1, |binary| startup::turns(binary).again);
    pairing.compare("one turn, process start to end", 1, |binary| startup::turns(binary).whole);
    pairing.compare("20 rounds of model and tool, start to end", 2, |binary| rounds::task(binary, 20));
    pairing.compare("a round's own time, look included", 4, |binary| {
        let mut gaps = rounds::own_times(binary, rounds::asks).0;
        gaps.sort();
        median(&gaps)
    });
    pairing.compare("a round's own time, command included", 4, |binary| {
        let mut gaps = rounds::own_times(binary, rounds::runs).0;
        gaps.sort();
        median(&gaps)
    });
    for files in [20, 10_000, 100_000] {
        let folder = watch::files(files);
        pairing.compare(&format!("reply to start of a command, {files} files"), 10, |binary| {
            watch::start_among(binary, &folder, false)
        });
        pairing.compare(&format!("the same, {files} files, one of them edited"), 10, |binary| {
            watch::start_among(binary, &folder, true)
        });
    }
    pairing.compare("cancel to closed connection, silent stream", 1, |binary| {
        cancel::time_to_close(binary, Signal::INT, false)
    });
    pairing.compare("cancel to closed connection, busy stream", 1, |binary| {
        cancel::time_to_close(binary, Signal::INT, true)
    });
    pairing.compare("cancel to no process left", 1, cancel::time_to_end_a_command);
    pairing.replay();
}

impl Pairing<'_> {
    /// Measures one thing with both binaries, fewer times where one time takes long.
    fn compare(&self, what: &str, length: usize, mut measure: impl FnMut(&Path) -> Duration) {
        let mut times: Vec<(Duration, Duration)> = Vec::new();
        for turn in 0..(self.pairs / length).max(3) {
            if turn % 2 == 0 {
                let ours = measure(self.ours);
                times.push((ours, measure(self.theirs)));
            } else {
                let theirs = measure(self.theirs);
                times.push((measure(self.ours), theirs));
            }
        }
        print_row(what, &times);
    }

    /// Folds one long log, which the other binary wrote, with both: `changes` reads all of it.
    fn replay(&self) {
        let writer = Program::new(self.theirs);
        rounds::project(&writer);
        (0..LOGGED_ROUNDS).for_each(|number| writer.provider.push(rounds::asks(number)));
        writer.provider.always(Answer::anthropic(Reply::new().text(["Done."])));
        let ended = writer.run(&["run", "--trust", "--max-steps", "10000", "Read the file"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let homes: Vec<(PathBuf, tempfile::TempDir)> =
            [self.ours, self.theirs].into_iter().map(|binary| (binary.to_owned(), copy_of(&writer.home()))).collect();
        self.compare("replay of a log of 400 rounds", 1, |binary| {
            let home = &homes.iter().find(|(of, _)| of == binary).expect("one of the two").1;
            let mut command = writer.command(binary, &["changes", "--json"]);
            command.env("TRIMTAB_HOME", home.path());
            let began = Instant::now();
            let output = command.output().expect("the program runs");
            let took = began.elapsed();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            took
        });
    }
}

/// A copy of a data folder, because a newer binary may change its tables.
fn copy_of(home: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
        }
    }
    copy
}

fn print_row(what: &str, times: &[(Duration, Duration)]) {
    let middle = |pick: fn(&(Duration, Duration)) -> Duration| {
        let mut picked: Vec<Duration> = times.iter().map(pick).collect();
        picked.sort();
        median(&picked)
    };
    let (ours, theirs) = (middle(|pair| pair.0), middle(|pair| pair.1));
    let mut ratios: Vec<f64> = times.iter().map(|(ours, theirs)| ours.as_secs_f64() / theirs.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let quartile = |part: usize| ratios[(ratios.len() - 1) * part / 4];
    println!(
        "{what:<46} {:>7.2} ms {:>7.2} ms {:>7.2} {:>6.2}–{:<6.2}",
        ours.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3,
        ours.as_secs_f64() / theirs.as_secs_f64(),
        quartile(1),
        quartile(3),
    );
}
