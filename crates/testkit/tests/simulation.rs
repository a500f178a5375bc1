//! Random histories of the real engine and host; see `trimtab_testkit::simulator`.

use trimtab_testkit::simulator::{SubtaskTally, Tally, play, play_subtasks};

/// Seeds that once failed, kept for good. Since models use tools the dice fall differently; what failed
/// before has been let go, because its seeds mean other histories now.
const KEPT: &[u64] = &[
    352,       // Requests that were answered while the history moved took up all the room, and nobody got on.
    672,       // A request that was answered with a stop while the history moved left tool uses without results.
    568,       // A change was taken back while a request that was answered waited for its turn, amid its tools.
    1_029,     // A person's `wait` left the questions about other tools open, and a call was made past them.
    1_397,     // Failures to sum up the conversation were counted against the next call.
    2_282,     // A request that was reopened took the conversation for its own, though others had spoken.
    3_534,     // The answer to one request let another go past its own open question.
    6_595,     // A summary was taken back, and a reopened request parted its tools from their results.
    1_960,     // A file whose creation was taken back meanwhile was deleted once more, and undoing that made it again.
    35,        // A prompt that did not fit was cut where its summary says what the current request is.
    48,        // A summary had no room for how far a request came, and the model did not look into its source.
    1_005_385, // Starting over took a note out of the conversation, and the model was not told again.
    22_388,    // A request was stopped while an answered one waited, and parted its tools from their results.
    611,       // A request that went on after another was not asked again how far it came.
    1_004_762, // A command that ran again and was killed was compared with the files before its first run.
    65_032,    // A deletion was allowed after its file was undone, and the program was killed before it was refused.
    14_554,    // A summary was undone, and the model was not told that plan mode, which it brought back, is over.
];

/// Seeds of histories with sub-tasks that once failed.
const KEPT_WITH_SUBTASKS: &[u64] = &[
    2,         // A reopened request heard from its worker before it had its slot, and ended for good.
    3,         // The copy of a worker was left behind, because the actor that was to remove it ended first.
    9,         // What workers told was lost while their request waited for its turn.
    10,        // A worker delegated, though it was not offered to.
    15,        // Answers about a failed sub-task counted as refusals.
    17,        // Stop all left sub-tasks pending that had not started.
    20,        // The copy of a worker was made twice at once.
    25,        // Failed calls for a plan were counted against the next call.
    37,        // A model could not merge two changes, and the answer to the next question led nowhere.
    45,        // What a stopped worker spent was counted twice.
    495,       // Trust was refused while workers ran, and they outlived the call that had started them.
    841,       // A request ended by another way than its delegating call, and a sub-task stayed pending for good.
    1_041,     // A sub-task was stopped before the plan was started.
    1_089,     // A new message ended a request, because one of its workers asked what to do instead.
    1_112,     // A rule answered a worker's question for the parent, and a copy was removed while its worker asked.
    3_554,     // The copy of a worker was made again after the worker had ended.
    3_710,     // A worker was stopped while its copy was made, and the copy was left behind.
    9_339,     // A sub-task was retried after the call that delegated it was over.
    9_381,     // What a worker spent after the end of its request was counted each time it was reported.
    11_527,    // A worker was stopped while its copy was made, and still got its request.
    15_126,    // A worker read the results of an earlier run of sub-tasks.
    3_109_343, // A killed worker looked for what its command had changed in a copy that was gone.
    3_111_297, // A process was killed while it read the instructions of a folder, and the next one started no workers.
    3_116_626, // A process died after the last look, and the simulator took its copy for one of a process that lives.
];

/// How many histories, and from which seed on: `TRIMTAB_SIM_HISTORIES` and `TRIMTAB_SIM_FROM`
/// make it more than the few of an ordinary run.
fn range(usual: u64) -> std::ops::Range<u64> {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let from = number("TRIMTAB_SIM_FROM", 0);
    from..from + number("TRIMTAB_SIM_HISTORIES", usual)
}

/// Plays all of them, and says which fail.
fn play_all(kept: &[u64], usual: u64, play: fn(u64) -> Result<Tally, String>) -> Tally {
    let mut total = Tally::default();
    let mut failing = Vec::new();
    for seed in kept.iter().copied().chain(range(usual)) {
        // A panic of the program breaks a history like any other failure, and must not hide the seeds after it.
        match std::panic::catch_unwind(|| play(seed)) {
            Ok(Ok(tally)) => total += tally,
            Ok(Err(broken)) => {
                println!("seed {seed}: {broken}\n");
                failing.push(seed);
            }
            Err(_) => {
                println!("seed {seed}: panicked\n");
                failing.push(seed);
            }
        }
    }
    assert!(
        failing.is_empty(),
        "failing seeds: {failing:?}\nAdd each one to the seeds that are kept once it is fixed."
    );
    total
}

#[test]
fn whatever_happens_nothing_is_lost_and_nothing_is_done_twice() {
    let total = play_all(KEPT, 1_000, play);
    println!("{total:#?}");
    // A simulation that never meets what it is for would prove nothing.
    for (what, often) in [
        ("kills", total.kills),
        ("cancelled requests", total.cancelled),
        ("failed requests", total.failed),
        ("completed requests", total.completed),
        ("partial replies", total.partials),
        ("questions", total.questions),
        ("tools", total.tools),
        ("commands", total.commands),
        ("changes of files", total.changes),
        ("refused tools", total.refused),
        ("summaries", total.compressed),
        ("assessments", total.assessed),
        ("reopened requests", total.reopened),
        ("controls", total.controls),
        ("moves of the change history", total.moves),
    ] {
        assert!(often > 100, "only {often} {what}");
    }
    for (what, often) in [
        ("plans", total.plans),
        ("steps of plans", total.steps),
        ("questions before the work", total.clarified),
        ("repetitions that a person was asked about", total.repeats),
        ("messages that went to a request that ran", total.joined),
        ("sessions that went on in others", total.handoffs),
        ("changes of tasks", total.task_sets),
        ("moves of their history", total.task_moves),
        ("proposals of the assistant", total.task_proposals),
        ("things that were noted for good", total.noted),
    ] {
        assert!(often > 20, "only {often} {what}");
    }
    assert!(total.understood > 0 && total.satisfactions > 0, "no talk became work, or nobody was asked to be content");
    // These need much to come together; a long run meets them often enough.
    assert!(total.unknown > 0 && total.mended > 0, "nobody died over a command, or mended a summary");
}

#[test]
fn whatever_happens_to_workers_every_sub_task_ends_once_and_only_what_was_merged_is_changed() {
    let total = play_all(KEPT_WITH_SUBTASKS, 300, play_subtasks);
    println!("{total:#?}");
    let SubtaskTally { started, completed, failed, skipped, stopped, retried, questions, .. } = total.subtasks;
    let SubtaskTally { answered, raised, settled, settled_by_model, merged, moved, .. } = total.subtasks;
    let SubtaskTally { parked, cancelled, killed, merged_again, left_out, .. } = total.subtasks;
    for (what, often) in [
        ("plans that were carried out", started),
        ("sub-tasks that were completed", completed),
        ("failed attempts", failed),
        ("further attempts", retried),
        ("sub-tasks that were left out", skipped),
        ("sub-tasks that were stopped", stopped),
        ("questions of workers", questions),
        ("answers to them", answered),
        ("settled conflicts", settled),
        ("merged changes", merged),
        ("kills of workers", killed),
        ("cancelled requests", cancelled),
    ] {
        assert!(often > 20, "only {often} {what}");
    }
    for (what, often) in [
        ("budgets that were raised", raised),
        ("conflicts that a model settled", settled_by_model),
        ("moves of merged changes", moved),
        ("requests that waited for a person", parked),
        ("merges that were made again", merged_again),
        ("merges that left files out", left_out),
    ] {
        assert!(often > 0, "no {what}");
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 0..20 {
        assert_eq!(play(seed), play(seed), "seed {seed}");
        assert_eq!(play_subtasks(seed), play_subtasks(seed), "seed {seed} with sub-tasks");
    }
}
