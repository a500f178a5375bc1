//! What is shown is what runs: terminal escapes, bidirectional text, long commands.
