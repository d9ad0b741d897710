//! Cancel: asks for the end of a run. The work loop ends its processes and says when they are gone (I-6).

use super::Answer;
use super::policy::Allowed;
use crate::base::ids::RunId;
use crate::ledger::{self, Write, runs, tasks};
use crate::model::run::RunState;

pub(super) fn cancel(tx: &Write<'_>, allowed: &Allowed<'_>, id: &RunId) -> ledger::Result<Answer> {
    let Some(run) = runs::get(tx, id)? else { return Ok(Answer::unknown("There is no such job.")) };
    let Some(task) = tasks::get(tx, &run.task)? else { return Ok(Answer::unknown("There is no such job.")) };
    let code = task.code;
    let answer = match run.state {
        RunState::Cancelling => Answer::done(format!("{code} is being cancelled already.")),
        RunState::Finishing => Answer::stale(format!("{code} has just ended; its receipt is on its way.")),
        state if state.ended() => Answer::stale(format!("{code} has ended already; there is nothing to cancel.")),
        _ => {
            runs::cancel(tx, id, &allowed.order().actor.label(), allowed.tools().clock.now())?;
            Answer::shown(allowed.order(), format!("{code} is being cancelled."))
        }
    };
    Ok(answer.about(&task.id, code, id))
}
