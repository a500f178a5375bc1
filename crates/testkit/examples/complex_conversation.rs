//! A conversation of several rounds, as it is recorded: a scripted model looks, plans, changes a file and runs a
//! command; a person answers what is asked, stops a tool and says what to do instead. Engine, host, database, files
//! and commands are the real ones.
//!
//! `cargo run --example complex_conversation` prints the events and the files that are left.

use trimtab_testkit::scenario::play;

const CONVERSATION: &str = r#"
--- src/boat.rs
pub fn speed_in_knots() -> u32 { 4 }
--- dialogue
> The boat is too slow: make it 6 knots, and check that nothing is left of the 4
?^ copilot that works in the user's folder
<+ I look where the speed is set, change it and look again.
<@ search {"pattern":"knots"}
<@ list_files {"path":"."}
?~ speed_in_knots
<@ read_file {"path":"src/boat.rs"}
#
<@ edit_file {"path":"src/boat.rs","blocks":[{"search":"pub fn speed_in_knots() -> u32 { 4 }","replace":"pub fn speed_in_knots() -> u32 { 6 }"}]}
?~ Changed src/boat.rs
<@ run_command {"command":"rm -r target"}
! wait leave target alone, just look
?~ leave target alone, just look
<@ run_command {"command":"grep -c 4 src/boat.rs"}
?~ Exit code 1
< The boat makes 6 knots now, and no 4 is left.
> And how fast was it before?
?+ The boat makes 6 knots now
< It made 4 knots.
"#;

fn main() {
    println!("{}", play(CONVERSATION));
}
