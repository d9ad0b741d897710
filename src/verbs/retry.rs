//! Retry: the same prompt again, as the next turn of its task.

use super::policy::Allowed;
use super::{Answer, ask};
use crate::base::ids::RunId;
use crate::ledger::{self, Write, runs, tasks};

pub(super) fn retry(tx: &Write<'_>, allowed: &Allowed<'_>, id: &RunId) -> ledger::Result<Answer> {
    let Some(run) = runs::get(tx, id)? else { return Ok(Answer::unknown("There is no such job.")) };
    let Some(task) = tasks::get(tx, &run.task)? else { return Ok(Answer::unknown("There is no such job.")) };
    let newest = runs::latest(tx, &task.id)?;
    if let Some(newest) = newest.filter(|newest| !newest.state.ended()) {
        let text = format!("{} has not ended; wait for its receipt, or tap Cancel.", task.code);
        return Ok(Answer::stale(text).about(&task.id, task.code, &newest.id));
    }
    if let Some(closed) = ask::closed(tx, allowed.tools())? {
        return Ok(Answer::refused(closed.sentence()));
    }
    ask::turn(tx, allowed, &task, &run.prompt)
}
