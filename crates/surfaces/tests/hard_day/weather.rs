//! What befalls everybody: kills, signals, sleep, a full disk, a clock that jumps.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::Program;

use crate::day::Day;
use crate::place::{Process, processes};

/// The clock that the programs see.
pub(crate) struct Clock {
    file: File,
}

impl Clock {
    /// Has every program of this world look at a clock that can be set. It is on another disk than everything else: a
    /// clock does not stop because a disk is full.
    pub(crate) fn install(program: &mut Program, folder: &Path) -> Self {
        let (source, library, path) =
            (folder.join("clock.c"), folder.join("clock.so"), folder.join("clock").display().to_string());
        std::fs::write(&source, include_str!("clock.c")).expect("a file");
        let made = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).status();
        assert!(made.is_ok_and(|status| status.success()), "a C compiler makes the clock");
        std::fs::write(&path, [0; 8]).expect("a file");
        program.set("LD_PRELOAD", library.to_str().expect("a path"));
        program.set("HARD_DAY_CLOCK", &path);
        Self { file: File::options().write(true).open(&path).expect("a file") }
    }

    /// Lets it go wrong by so many seconds.
    fn set(&self, seconds: i64) {
        self.file.write_all_at(&seconds.to_ne_bytes(), 0).expect("a file");
    }
}

/// Who may be met.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mercy {
    /// Nobody is spared.
    None,
    /// The server lives: what it holds is measured.
    Server,
}

/// Makes weather until the day is over.
pub(crate) fn weather(day: &Day, clock: &Clock, mercy: Mercy) {
    let mut dice = day.dice(if mercy == Mercy::None { "storm" } else { "rain" });
    for turn in 1_u64.. {
        if day.is_over() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100 + dice.below(700)));
        match dice.below(20) {
            // However the dice fall, a disk is full now and then.
            _ if turn % 12 == 4 => flood(day, &mut dice),
            0..=9 => strike(day, &mut dice, mercy, Signal::KILL),
            10 => strike(day, &mut dice, mercy, Signal::TERM),
            11 => strike(day, &mut dice, mercy, Signal::INT),
            12 | 13 => doze(day, &mut dice),
            14 | 15 => flood(day, &mut dice),
            16..=18 => {
                // Days in both directions, but no more: what is kept for days must not expire within this one.
                let seconds = dice.below(4 * 86_400) as i64 - 2 * 86_400;
                clock.set(if dice.once_in(2) { seconds } else { seconds / 1000 });
                day.book().jumps += 1;
                day.count("clock jumps");
            }
            _ => {}
        }
    }
    clock.set(0);
    day.book().jumps += 1;
}

fn victims(day: &Day, mercy: Mercy) -> Vec<Process> {
    let binary = day.program.binary().to_string_lossy().into_owned();
    let mut found = processes();
    found.retain(|process| process.line.starts_with("trimtab") || process.line.starts_with(&binary));
    if mercy == Mercy::Server {
        found.retain(|process| !is_server(process));
    }
    found
}

/// Whether this is the server.
pub(crate) fn is_server(process: &Process) -> bool {
    process.line.contains(" serve --addr")
}

fn strike(day: &Day, dice: &mut Dice, mercy: Mercy, signal: Signal) {
    let victims = victims(day, mercy);
    let Some(victim) = dice.pick(&victims) else { return };
    let id = victim.id as u32;
    day.book().struck.insert(id);
    let what = if victim.line.starts_with("trimtab") { "a supervisor" } else { "a program" };
    day.count(format!("{signal:?} to {what}"));
    if let Some(pid) = Pid::from_raw(victim.id) {
        let _ = kill_process(pid, signal);
    }
}

/// A laptop that is closed and opened again.
fn doze(day: &Day, dice: &mut Dice) {
    let victims = victims(day, Mercy::Server);
    let Some(pid) = dice.pick(&victims).and_then(|victim| Pid::from_raw(victim.id)) else { return };
    day.count("stops");
    let _ = kill_process(pid, Signal::STOP);
    std::thread::sleep(Duration::from_millis(100 + dice.below(1500)));
    let _ = kill_process(pid, Signal::CONT);
}

/// A disk that is full for a while.
fn flood(day: &Day, dice: &mut Dice) {
    day.book().full.push((Instant::now(), None));
    let is_full = day.disk.fill();
    if is_full {
        day.count("full disks");
        std::thread::sleep(Duration::from_millis(200 + dice.below(1500)));
    }
    day.disk.free();
    if let Some(last) = day.book().full.last_mut() {
        last.1 = Some(Instant::now());
    }
}
