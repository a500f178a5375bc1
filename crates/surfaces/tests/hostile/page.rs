//! The browser page and the server behind it.
