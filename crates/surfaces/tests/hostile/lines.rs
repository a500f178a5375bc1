//! Command lines that must not run without a question.
