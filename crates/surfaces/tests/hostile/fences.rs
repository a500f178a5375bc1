//! What a command must not do inside its fence.
