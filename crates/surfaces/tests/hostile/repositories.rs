//! What a hostile repository must not make git run.
