//! The process tree of a run, read from /proc, and its end with proof.
