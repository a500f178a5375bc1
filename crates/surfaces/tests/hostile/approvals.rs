//! What only a person may approve.
