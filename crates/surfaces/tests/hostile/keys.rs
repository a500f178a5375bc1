//! Keys and text that must not answer, run or navigate.
