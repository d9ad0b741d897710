//! One run, from claimed to its receipt.

use std::sync::Arc;
use std::time::Duration;

use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::money::MicroUsd;
use crate::base::stop::Stop;
use crate::base::text;
use crate::compute::{self, Ending, Event, Outcome, Request};
use crate::ledger::{LedgerError, runs, spend, steps, tasks};
use crate::model::reasoning;
use crate::model::receipt::{Basis, Usage};
use crate::model::run::{RunEvent, RunState};

use super::answer::{self, Answer};
use super::{WorkParts, artifacts, recover};

/// What a run said is recorded at most this often: enough for a live card, little for the disk (DESIGN 5).
const RECORD_EVERY: Duration = Duration::from_millis(500);

/// Characters of a step.
const STEP_KEPT: usize = 300;

/// Characters of what went wrong.
const ERROR_KEPT: usize = 2_000;

/// How a run is told from outside.
pub struct Tokens {
    /// A person cancelled it.
    pub cancel: Stop,
    /// The host stops: the run is ended, and found as interrupted at the next start.
    pub stop: Stop,
}

/// Carries a claimed run out.
pub async fn carry_out(parts: Arc<WorkParts>, run: runs::Run, tokens: Tokens) -> Result<(), Failure> {
    let prepared = match prepare(&parts, &run).await {
        Ok(prepared) => prepared,
        Err(why) => return fail(&parts, &run, why, true).await,
    };
    let (id, warden, now) = (run.id.clone(), prepared.warden(), parts.clock.now());
    let recorded = parts.ledger.write("warden", move |tx| runs::record_warden(tx, &id, warden, now)).await;
    match recorded {
        Ok(_) => {}
        // Cancelled in between: the warden is dropped unstarted, so nothing ran and nothing is left.
        Err(LedgerError::Illegal(_)) => {
            drop(prepared);
            return cancelled_unstarted(&parts, &run).await;
        }
        Err(error) => return Err(error.into()),
    }
    let job = match prepared.go().await {
        Ok(job) => job,
        Err(error) => {
            // The warden may have heard the go before it was lost: only a look tells.
            let swept = recover::end_all(std::slice::from_ref(&run)).await?;
            return fail(&parts, &run, error.to_string(), swept.iter().all(|s| s.gone)).await;
        }
    };
    let mut told = Told::default();
    match follow(&parts, &run, job, &tokens, &mut told).await? {
        Followed::Ended(ending) => end(&parts, run, ending, told, &tokens).await,
        Followed::Stopped(ending) => recover::interrupt(&parts, &run.id, (ending.ended, ending.gone), told.cost).await,
    }
}

async fn prepare(parts: &WorkParts, run: &runs::Run) -> Result<Box<dyn compute::Prepared>, String> {
    let task = run.task.clone();
    let task = parts.ledger.read(move |read| tasks::get(read, &task)).await.map_err(|e| e.to_string())?;
    let mode = task.map(|t| t.mode).ok_or("its task is gone")?;
    let folder = artifacts::make_folder(parts, run).await?;
    let request = Request {
        run: run.id.clone(),
        mark: run.mark.clone(),
        prompt: run.prompt.clone(),
        mode,
        cwd: parts.cwd.clone(),
        artifacts: folder,
        deadline: parts.limits.run_deadline,
    };
    parts.backend.prepare(request).await.map_err(|e| e.to_string())
}

/// What a run told on its way.
#[derive(Default)]
struct Told {
    answer: Answer,
    changed: bool,
    steps: Vec<String>,
    usage: Usage,
    cost: Option<MicroUsd>,
}

impl Told {
    fn take(&mut self, event: Event) {
        match event {
            Event::Started | Event::Ended(_) => {}
            Event::Step(step) => self.step(&step),
            Event::Text(more) => {
                self.answer.push(&more);
                self.changed = true;
            }
            Event::Tool(name, what) => self.step(&format!("{name}: {what}")),
            Event::Permission(_, what) => self.step(&format!("asked for permission: {what}")),
            Event::Usage(usage, cost) => {
                self.usage = usage;
                self.cost = cost.or(self.cost);
            }
        }
    }

    fn step(&mut self, what: &str) {
        self.steps.push(text::cut(&text::one_line(&reasoning::showable(what)), STEP_KEPT));
        // What is not written down yet is bounded like what is: by its newest (I-17).
        if self.steps.len() > steps::KEPT as usize {
            self.steps.remove(0);
        }
    }
}

/// Why a run is followed no longer.
enum Followed {
    /// It ended, by itself or cancelled.
    Ended(Ending),
    /// The host stops, and ended it.
    Stopped(Ending),
}

async fn follow(
    parts: &WorkParts,
    run: &runs::Run,
    mut job: compute::Job,
    tokens: &Tokens,
    told: &mut Told,
) -> Result<Followed, Failure> {
    let mut record = tokio::time::interval(RECORD_EVERY);
    record.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut asked_to_end = false;
    loop {
        tokio::select! {
            () = tokens.stop.wait() => {
                job.handle.cancel();
                return Ok(Followed::Stopped(drain(&mut job).await));
            }
            () = tokens.cancel.wait(), if !asked_to_end => {
                asked_to_end = true;
                job.handle.cancel();
            }
            _ = record.tick() => write_down(parts, run, told).await?,
            event = job.events.recv() => match event {
                Some(Event::Permission(id, what)) => {
                    // Nothing here can ask a person yet, so nothing is permitted.
                    job.handle.answer(&id, false).await.log_and_go_on("a permission could not be denied");
                    told.take(Event::Permission(id, what));
                }
                Some(Event::Ended(ending)) => {
                    write_down(parts, run, told).await?;
                    return Ok(Followed::Ended(ending));
                }
                Some(event) => told.take(event),
                None => return Ok(Followed::Ended(broken_off())),
            }
        }
    }
}

async fn drain(job: &mut compute::Job) -> Ending {
    while let Some(event) = job.events.recv().await {
        if let Event::Ended(ending) = event {
            return ending;
        }
    }
    broken_off()
}

fn broken_off() -> Ending {
    let outcome = Outcome::Failed("The backend broke off without an ending.".into());
    Ending { outcome, summary: String::new(), ended: 0, gone: false }
}

async fn write_down(parts: &WorkParts, run: &runs::Run, told: &mut Told) -> Result<(), Failure> {
    if !told.changed && told.steps.is_empty() {
        return Ok(());
    }
    let (id, now) = (run.id.clone(), parts.clock.now());
    let (answer, new) = (told.answer.clone(), std::mem::take(&mut told.steps));
    told.changed = false;
    let answer = aside(move || answer.so_far()).await?;
    parts
        .ledger
        .write("progress", move |tx| {
            for step in &new {
                steps::add(tx, &id, step, now)?;
            }
            runs::set_answer(tx, &id, &answer)
        })
        .await?;
    Ok(())
}

/// Reading a whole answer takes a moment that other tasks should not wait for.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|e| Failure::failed(format!("An answer could not be read: {e}.")))
}

async fn end(
    parts: &Arc<WorkParts>,
    run: runs::Run,
    mut ending: Ending,
    told: Told,
    tokens: &Tokens,
) -> Result<(), Failure> {
    let (cost, basis) = price(parts, &told);
    let (id, now, usage) = (run.id.clone(), parts.clock.now(), told.usage);
    let (folder, said, mut answer) = (artifacts::folder(parts, &run), std::mem::take(&mut ending.summary), told.answer);
    let recorded = aside(move || {
        if answer.is_empty() {
            answer.push(&said);
        }
        answer::lay_down(&folder, answer.whole())
    });
    let recorded = recorded.await?;
    let state = parts
        .ledger
        .write("ended", move |tx| {
            let was = runs::state(tx, &id)?.unwrap_or(RunState::Started);
            let (event, error) = decide(was, &ending);
            let summary = Some(recorded.summary(event == RunEvent::Succeed));
            let left = runs::Left { summary, error: error.map(|e| shown(&e)), ended_processes: Some(ending.ended) };
            runs::set_answer(tx, &id, &recorded.shown())?;
            runs::leave(tx, &id, &left)?;
            runs::set_usage(tx, &id, &usage)?;
            spend::settle(tx, &id, cost, basis)?;
            runs::apply(tx, &id, event, now)
        })
        .await?;
    match state {
        RunState::Finishing => finish(Arc::clone(parts), run, tokens).await,
        _ => Ok(()),
    }
}

/// A reason as it is recorded.
fn shown(why: &str) -> String {
    text::cut(&reasoning::showable(why), ERROR_KEPT)
}

/// The one event that an ending is, for the state that the run is in (I-6).
fn decide(was: RunState, ending: &Ending) -> (RunEvent, Option<String>) {
    let not_gone = "Some of its processes could not be proved gone. Look at them on the machine.";
    match (&ending.outcome, was, ending.gone) {
        (Outcome::Cancelled, RunState::Cancelling, true) => (RunEvent::Gone, None),
        (_, RunState::Cancelling, false) => (RunEvent::NotGone, Some(not_gone.to_owned())),
        (Outcome::Failed(_), RunState::Cancelling, true) => (RunEvent::Gone, None),
        (Outcome::Done, _, _) => (RunEvent::Succeed, (!ending.gone).then(|| not_gone.to_owned())),
        (Outcome::Failed(why), _, _) => (RunEvent::Fail, Some(why.clone())),
        (Outcome::Cancelled, _, _) => (RunEvent::Fail, Some("It was ended from outside.".into())),
    }
}

fn price(parts: &WorkParts, told: &Told) -> (MicroUsd, Basis) {
    match (told.cost, parts.backend.basis()) {
        (Some(cost), _) => (cost, Basis::Exact),
        (None, Basis::Free) => (MicroUsd(0), Basis::Free),
        (None, _) => (parts.limits.unknown_run.min(parts.limits.run_max), Basis::Unknown),
    }
}

async fn cancelled_unstarted(parts: &WorkParts, run: &runs::Run) -> Result<(), Failure> {
    let (id, now) = (run.id.clone(), parts.clock.now());
    parts
        .ledger
        .write("ended", move |tx| {
            if runs::state(tx, &id)? == Some(RunState::Cancelling) {
                spend::settle(tx, &id, MicroUsd(0), Basis::Exact)?;
                runs::apply(tx, &id, RunEvent::Gone, now)?;
            }
            Ok(())
        })
        .await?;
    Ok(())
}

/// Ends a run that did not come to run. `gone`: nothing of it is left on the machine.
async fn fail(parts: &WorkParts, run: &runs::Run, why: String, gone: bool) -> Result<(), Failure> {
    let (id, now) = (run.id.clone(), parts.clock.now());
    parts
        .ledger
        .write("ended", move |tx| {
            let event = match (runs::state(tx, &id)?, gone) {
                (Some(RunState::Cancelling), true) => RunEvent::Gone,
                (Some(RunState::Cancelling), false) => RunEvent::NotGone,
                _ => RunEvent::Fail,
            };
            runs::leave(tx, &id, &runs::Left { error: Some(shown(&why)), ..runs::Left::default() })?;
            // Nothing ran, so nothing was spent.
            spend::settle(tx, &id, MicroUsd(0), Basis::Exact)?;
            runs::apply(tx, &id, event, now)
        })
        .await?;
    Ok(())
}

/// What remains to be done for a run that ended well: its files, then its receipt.
pub async fn finish(parts: Arc<WorkParts>, run: runs::Run, tokens: &Tokens) -> Result<(), Failure> {
    artifacts::and_receipt(&parts, &run, &tokens.stop).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(outcome: Outcome, gone: bool) -> Ending {
        Ending { outcome, summary: String::new(), ended: 0, gone }
    }

    #[test]
    fn i_6_cancelled_is_written_only_with_proof() {
        let failed = || Outcome::Failed("x".into());
        for (outcome, was, gone, event) in [
            (Outcome::Cancelled, RunState::Cancelling, true, RunEvent::Gone),
            (Outcome::Cancelled, RunState::Cancelling, false, RunEvent::NotGone),
            (failed(), RunState::Cancelling, true, RunEvent::Gone),
            (failed(), RunState::Cancelling, false, RunEvent::NotGone),
            (Outcome::Done, RunState::Cancelling, false, RunEvent::NotGone),
            (Outcome::Done, RunState::Cancelling, true, RunEvent::Succeed),
            (Outcome::Done, RunState::Started, true, RunEvent::Succeed),
            (failed(), RunState::Started, true, RunEvent::Fail),
            (Outcome::Cancelled, RunState::Started, true, RunEvent::Fail),
        ] {
            assert_eq!(decide(was, &ending(outcome.clone(), gone)).0, event, "{outcome:?} {was:?} {gone}");
        }
    }
}
