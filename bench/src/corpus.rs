//! Damaged answers, awkward edits and odd commands: what the libraries make of them, beside public ones.
//!
//! Most cases are generated, the same ones in every run; the rest is in `bench/corpus/`. The cases were written from
//! the rules of judgement alone. With `CORPUS_MISTAKES=1` every mistake is printed with its input.

mod answers;
mod bases;
mod commands;
mod damage;
mod dice;
mod edits;
mod rivals;
mod score;
mod seeds;
mod speed;
mod tokens;

use std::path::PathBuf;

pub use seeds::write as write_seeds;

/// Prints everything. `CORPUS_TOOLS` names a folder with the public libraries: `npm install jsonrepair`, and a
/// virtual environment `v` with `json_repair`, `diff-match-patch`, `tqdm` and, without its dependencies, `aider-chat`.
pub fn run() {
    let tools = PathBuf::from(std::env::var_os("CORPUS_TOOLS").unwrap_or_default());
    let cases = answers::all();
    let ours = answers::ours(&cases);
    print!("{}", ours.table());
    println!("{}", ours.line("trimtab", true));
    for line in rivals::answers(&cases, &tools) {
        println!("{line}");
    }
    print!("\n{}", speed::table(&cases));
    let cases = edits::all();
    let edited = edits::ours(&cases);
    print!("\n{}", edited.table());
    println!("{}", edited.line("trimtab"));
    for line in rivals::edits(&cases, &tools) {
        println!("{line}");
    }
    let judged = commands::ours();
    println!("\n{}", judged.line());
    if std::env::var_os("CORPUS_MISTAKES").is_some() {
        for mistake in ours.mistakes.iter().chain(&edited.mistakes).chain(&judged.mistakes) {
            println!("{mistake}\n");
        }
    }
}
