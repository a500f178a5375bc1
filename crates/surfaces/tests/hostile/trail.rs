//! The audit trail, and what is stored.
