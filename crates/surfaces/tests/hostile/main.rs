//! The hostile suite: every attack that a review has found, against the real binary. Each test is one attack, and
//! its name says what must not happen. `SECURITY.md` has the threat model behind it.

mod approvals;
mod background;
mod before_trust;
mod composed;
mod control_files;
mod edits;
mod extensions;
mod fences;
mod hooks;
mod instructions;
mod keys;
mod lines;
mod loss;
mod page;
mod planted;
mod read_class;
mod repositories;
mod secrets;
mod shown;
mod trail;
