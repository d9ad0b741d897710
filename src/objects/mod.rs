//! The object store: files that lie in Discord under a durable key and come back as the same bytes, or not at all.

pub mod caption;
pub mod get;
pub mod index;
pub mod names;
pub mod place;
pub mod put;

/// Most objects in one page of a list: as many as Discord shows messages in one (I-17).
pub const MOST_PER_PAGE: usize = 100;
