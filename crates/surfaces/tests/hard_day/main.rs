//! A hard day: everybody works at once, on every surface, in several processes on one data folder, while processes are
//! killed, the disk is full, streams break and the clock jumps. In the evening nothing is lost, nothing happened twice,
//! folding the logs again gives what the program says, and nothing is left behind.
//!
//! The ordinary run takes less than a minute. `TRIMTAB_HARD_DAY_MINUTES=120` makes it long, `TRIMTAB_HARD_DAY_SEED`
//! repeats a day as nearly as processes permit.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]
#![cfg(target_os = "linux")]

mod brain;
mod browser;
mod checks;
mod day;
mod evening;
mod people;
mod place;
mod screen;
mod weather;

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use browser::{Keeper, Seen};
use day::Day;
use evening::Held;
use people::Shared;
use trimtab_testkit::program::Program;
use weather::{Clock, Mercy};

/// Seconds of weather in an ordinary run.
const SHORT: f64 = 16.0;
/// Of so many answers of the model, one goes wrong.
const STUMBLES: u64 = 8;

fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn after_a_hard_day_nothing_is_lost_or_done_twice_or_left_behind() {
    if let Some(went_well) = place::enter("after_a_hard_day_nothing_is_lost_or_done_twice_or_left_behind") {
        assert!(went_well, "see above: the day tells what was wrong, and where everything is kept");
        return;
    }
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    let seed = number("TRIMTAB_HARD_DAY_SEED").unwrap_or_else(fresh);
    let minutes = number::<f64>("TRIMTAB_HARD_DAY_MINUTES").unwrap_or(SHORT / 60.0);
    println!("TRIMTAB_HARD_DAY_SEED={seed} TRIMTAB_HARD_DAY_MINUTES={minutes}");
    let outside = tempfile::tempdir().expect("a folder");
    let disk = place::Disk::mount();
    let asked = brain::Asked::default();
    let mut program = Program::within(env!("CARGO_BIN_EXE_trimtab"), disk.folder());
    program.provider.answer_with(brain::model(seed, STUMBLES, asked.clone()));
    let easel = format!("{}/v1", program.provider.url());
    let temp = program.home().with_file_name("temp");
    std::fs::create_dir(&temp).expect("a folder");
    for (name, value) in [
        ("TRIMTAB_PROVIDERS_EASEL_KIND", "openai"),
        ("TRIMTAB_PROVIDERS_EASEL_BASE_URL", easel.as_str()),
        ("TRIMTAB_MODELS_IMAGE", "easel/grok-2-image"),
        // A model that falls silent is given up soon: the day is short.
        ("TRIMTAB_LIMITS_API_TIMEOUT_S", "2"),
        ("TMPDIR", temp.to_str().expect("a path")),
    ] {
        program.set(name, value);
    }
    let clock = Clock::install(&mut program, outside.path());
    let day = Day::new(program, disk, seed, asked);
    let length = Duration::from_secs_f64(minutes * 60.0);
    let seen = Seen::default();
    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| live(&day, &clock, length, &seen)));
    if let Err(panic) = lived {
        let words =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        day.wrong(format!("the day itself failed: {}", words.unwrap_or_default()));
    }
    report(&day);
}

/// The day, from its dawn to its evening.
fn live(day: &Day, clock: &Clock, length: Duration, seen: &Seen) {
    let folders = ["alone", "pair", "browser", "terminal", "pictures"].map(|name| day.folder(name));
    let keeper = Keeper::new(day);
    let everybody = |mercy: Mercy, length: Duration| -> Option<Held> {
        let (alone, pair, current) = (Shared::default(), Shared::default(), Mutex::new(None));
        day.set_over(false);
        std::thread::scope(|scope| {
            scope.spawn(|| keeper.keep());
            scope.spawn(|| people::script(day, "alone", &folders[0], &alone));
            scope.spawn(|| people::script(day, "one of two", &folders[1], &pair));
            scope.spawn(|| people::script(day, "the other", &folders[1], &pair));
            scope.spawn(|| browser::work(day, &keeper, &folders[2], &current));
            scope.spawn(|| browser::watch(day, &keeper, "watcher", &current, seen));
            scope.spawn(|| screen::work(day, &folders[3]));
            scope.spawn(|| people::pictures(day, &folders[4]));
            scope.spawn(|| people::tasks(day));
            scope.spawn(|| weather::weather(day, clock, mercy));
            std::thread::sleep(length / 2);
            let noon = keeper.id().and_then(|id| Held::by(id, day.program.provider.url()));
            std::thread::sleep(length / 2);
            day.set_over(true);
            noon
        })
    };
    // A storm, which spares nobody.
    everybody(Mercy::None, length * 2 / 5);
    keeper.end();
    println!("the storm is over");
    // Then rain, in which the server stands: what it holds is compared.
    keeper.start();
    let id = keeper.id().expect("a server");
    for path in ["/api/sessions", "/api/jobs", "/api/todos"] {
        keeper.send("GET", path, None, None);
    }
    // Whatever it opens once and holds from then on is open before it is looked at: a model was called, and a
    // command has run.
    let ended = browser::ask_once(day, &keeper, &folders[2]);
    assert!(ended, "the server answers before the rain begins");
    let dawn = Held::by(id, day.program.provider.url()).expect("a server");
    let noon = everybody(Mercy::Server, length * 3 / 5);
    let began = Instant::now();
    evening::finish(day, Some(&keeper));
    println!("everything came to its end in {:?}", began.elapsed());
    match noon.filter(|_| keeper.id() == Some(id)) {
        Some(noon) => evening::compare(day, id, dawn, noon),
        None => day.wrong("the server that nobody touched is not there any more"),
    }
    keeper.end();
    evening::finish(day, None);
    let sessions = checks::export_all(day);
    checks::nothing_lost_nothing_twice(day, &sessions);
    checks::effects_once(day, &sessions);
    checks::calls_announced(day, &sessions);
    checks::streams_equal_logs(day, &sessions, seen);
    checks::replays(day, &sessions);
    checks::everything_rewinds(day, &sessions);
    checks::undamaged(day);
    checks::nothing_left(day);
}

/// Says how it was, and fails if anything was wrong.
fn report(day: &Day) {
    let book = day.book();
    for (what, times) in &book.counts {
        println!("{times:>6}  {what}");
    }
    if book.wrong.is_empty() {
        return;
    }
    println!("\n{} things were wrong:", book.wrong.len());
    for what in &book.wrong {
        println!("- {what}");
    }
    let there = day.disk.save(day.seed);
    println!("Everything is kept in {}, the data folder as `home` below it.", there.display());
    println!("Again: TRIMTAB_HARD_DAY_SEED={}", day.seed);
    drop(book);
    panic!("the day was too hard");
}
