//! A deterministic backend for tests and first steps. Says so on its card.
