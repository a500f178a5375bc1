//! Edits of files that other programs run or obey, and edits that must be refused.
