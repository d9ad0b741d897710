//! Short messages that are no cards: what stands in for an ask that has no message.

use super::plain;
use crate::ledger::tasks::Task;
use crate::model::card::Post;

/// Code points of the ask that a starter repeats.
const ASK: usize = 700;

/// Longest name of a thread (facts.md section 7).
const NAME: usize = 100;

/// Message that stands for an ask whose own message is gone, so that a thread can hang on it.
pub fn starter(task: &Task) -> Post {
    Post::text(format!("**{}** {} asked: {}", task.code, plain(&task.asker_name, 40), plain(&task.text, ASK)))
}

/// Name of a task's thread.
pub fn thread_name(task: &Task) -> String {
    let text = crate::base::redact::redact(&task.text);
    crate::base::text::cut(&crate::base::text::one_line(&format!("{} {text}", task.code)), NAME)
}
