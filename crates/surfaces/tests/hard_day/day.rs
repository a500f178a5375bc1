//! What everybody who takes part in the day shares: the program, the weather so far, and what was promised to whom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::{Ended, Program, Running};

use crate::brain::Asked;
use crate::place::Disk;

/// How long after a full disk somebody may still say that it was full: who waits for room asks again now and then.
const ECHO: Duration = Duration::from_secs(8);

/// How long anything that somebody starts may take. Everything does within seconds; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(90);

/// The day.
pub(crate) struct Day {
    pub(crate) program: Program,
    pub(crate) disk: Disk,
    pub(crate) seed: u64,
    pub(crate) asked: Asked,
    over: AtomicBool,
    numbers: AtomicU64,
    book: Mutex<Book>,
}

/// What is written down while it happens.
#[derive(Default)]
pub(crate) struct Book {
    /// Jobs by their names.
    pub(crate) jobs: BTreeMap<String, Job>,
    /// Processes that were sent a signal by us.
    pub(crate) struck: BTreeSet<u32>,
    /// When the disk was full, and until when.
    pub(crate) full: Vec<(Instant, Option<Instant>)>,
    /// How often the clock was set.
    pub(crate) jumps: usize,
    /// What is wrong.
    pub(crate) wrong: Vec<String>,
    /// How often what happened, for whoever reads the end.
    pub(crate) counts: BTreeMap<String, usize>,
}

/// Something that a person asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Job {
    /// Somebody was told that it is taken in: it must be in the log.
    pub(crate) accepted: bool,
    /// The clock jumped between two wishes with one key: what is known for ten minutes may be known no longer.
    pub(crate) aged: bool,
    /// It stood in the input of a terminal when it was sent: it must be in the log, or there still.
    pub(crate) typed: bool,
}

impl Day {
    pub(crate) fn new(program: Program, disk: Disk, seed: u64, asked: Asked) -> Self {
        let (over, numbers, book) = (AtomicBool::new(false), AtomicU64::new(1), Mutex::default());
        Self { program, disk, seed, asked, over, numbers, book }
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Dice of somebody's own.
    pub(crate) fn dice(&self, of: &str) -> Dice {
        let name = of.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Dice::new(self.seed ^ name)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn set_over(&self, over: bool) {
        self.over.store(over, Ordering::Relaxed);
    }

    pub(crate) fn wrong(&self, what: impl Into<String>) {
        let what = what.into();
        eprintln!("WRONG: {what}");
        self.book().wrong.push(what);
    }

    pub(crate) fn count(&self, what: impl Into<String>) {
        *self.book().counts.entry(what.into()).or_default() += 1;
    }

    /// A folder of somebody's own, which is trusted.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.program.project().join(name);
        for part in ["marks", "files"] {
            std::fs::create_dir_all(folder.join(part)).expect("a folder");
        }
        std::fs::write(folder.join(".gitignore"), "marks/\n").expect("a file");
        std::fs::write(folder.join("list.txt"), "BEGIN\nEND\n").expect("a file");
        let trusted = self.trimtab(&["trust", folder.to_str().expect("a path")]);
        assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
        folder
    }

    /// A job with a name of its own: what to say. `kind` is `talk`, `write`, `run` or `both`.
    pub(crate) fn job(&self, kind: &str) -> (String, String) {
        let name = format!("job-{:05}", self.numbers.fetch_add(1, Ordering::Relaxed));
        let words = format!("Please see to {name} [{kind}]");
        self.book().jobs.insert(name.clone(), Job::default());
        self.count(format!("job {kind}"));
        (name, words)
    }

    /// A job of any kind.
    pub(crate) fn any_job(&self, dice: &mut Dice) -> (String, String) {
        self.job(dice.pick(&["talk", "write", "run", "both", "both"]).expect("one of them"))
    }

    pub(crate) fn accepted(&self, job: &str) {
        self.book().jobs.entry(job.to_owned()).or_default().accepted = true;
    }

    /// Runs the program, and judges how it ended.
    pub(crate) fn trimtab(&self, arguments: &[&str]) -> Ended {
        let began = Instant::now();
        let running = self.program.spawn(arguments);
        let id = running.id();
        let ended = self.judged(arguments.first().unwrap_or(&""), id, began, running);
        if began.elapsed() > PATIENCE {
            self.wrong(format!("that was {arguments:?}"));
        }
        ended
    }

    /// Judges how a program that runs ends.
    pub(crate) fn judged(&self, what: &str, id: u32, began: Instant, mut running: Running) -> Ended {
        if !wait_until(PATIENCE, || running.has_ended()) {
            let said: Vec<String> = running.stdout().lines().rev().take(3).map(str::to_owned).collect();
            self.wrong(format!("`{what}` does not end; it said {said:#?} and {}", running.stderr()));
            self.book().struck.insert(id);
            running.signal(Signal::KILL);
        }
        let ended = running.wait();
        let was_struck = self.book().struck.contains(&id);
        let code = ended.code.map_or("killed".to_owned(), |code| code.to_string());
        self.count(format!("{what} ended {code}"));
        let last =
            || ended.stderr.lines().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
        if says_panic(&ended.stderr) {
            self.wrong(format!("`{what}` panicked:\n{}", last()));
        }
        match ended.code {
            // Somebody else who was told to stop has stopped what both followed.
            Some(130) if ended.stdout.contains("\"cancelled\"") => {}
            None | Some(130 | 143) if !was_struck => {
                self.wrong(format!("`{what}` ended by itself as {code}:\n{}", last()))
            }
            None | Some(0 | 3 | 4 | 130 | 143) => {}
            Some(1) => self.failed(what, began, &ended),
            Some(other) => self.wrong(format!("`{what}` ended with the code {other}:\n{}", last())),
        }
        ended
    }

    /// A failure is right when it says what happened and what to do, and when that is true.
    fn failed(&self, what: &str, began: Instant, ended: &Ended) {
        let is_full = ["is full", "No space left on device"].iter().any(|words| ended.stderr.contains(words));
        if is_full && !self.was_full(began) {
            self.wrong(format!("`{what}` says that the disk is full, and it was not:\n{}", ended.stderr));
        }
        let all = || ended.stderr.lines().chain(ended.stdout.lines());
        let first = all().find(|line| line.starts_with("error")).or_else(|| all().next()).unwrap_or("without a word");
        if first == "without a word" {
            self.wrong(format!("`{what}` failed without a word"));
        }
        let words: String = first.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(120).collect();
        self.count(format!("{what}: {words}"));
    }

    /// Whether the disk was full at any time since then.
    pub(crate) fn was_full(&self, since: Instant) -> bool {
        self.book().full.iter().any(|(_, until)| until.is_none_or(|until| until + ECHO > since))
    }

    /// The lines of an output that are whole, as JSON.
    pub(crate) fn lines(ended: &Ended) -> Vec<Value> {
        ended.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Notes what the events of a run promise, and says in which session they happened.
    pub(crate) fn heard(&self, events: &[Value]) -> Option<String> {
        for event in events {
            let is_taken = event["type"] == "request.received" || event["type"] == "request.joined";
            if let Some(job) = event["text"].as_str().filter(|_| is_taken).and_then(crate::brain::job_in) {
                self.accepted(job);
            }
        }
        events.iter().find_map(|event| event["session"].as_str()).map(str::to_owned)
    }
}

/// Whether a program says that it met a defect of its own.
pub(crate) fn says_panic(text: &str) -> bool {
    text.contains("panicked at") || text.contains("RUST_BACKTRACE")
}

/// Waits until something is so; whether it became so in time.
pub(crate) fn wait_until(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every file below a folder that is not ignored, with what is in it.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true if path.file_name().is_some_and(|name| name == "marks") => {}
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).expect("is below it").to_owned();
                    files.insert(name, std::fs::read(&path).unwrap_or_default());
                }
            }
        }
    }
    files
}
