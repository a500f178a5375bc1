//! What must not be lost without a question.
