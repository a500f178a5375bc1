//! Instruction files, trust, and what is read before it.
