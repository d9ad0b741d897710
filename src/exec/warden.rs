//! The warden: a small process of the same binary that owns everything a run starts.
