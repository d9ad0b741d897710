//! One run, from claimed to its receipt.

use std::sync::Arc;
use std::time::Duration;

use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::money::MicroUsd;
use crate::base::stop::Stop;
use crate::base::text;
use crate::compute::{self, Ending, Event, Outcome, Request};
use crate::ledger::{runs, spend, steps, tasks};
use crate::model::receipt::{Basis, Usage};
use crate::model::run::{RunEvent, RunState};

use super::{WorkParts, artifacts, claim, recover};

/// What a run said is recorded at most this often: enough for a live card, little for the disk (DESIGN 5).
const RECORD_EVERY: Duration = Duration::from_millis(500);

/// Characters of the answer that are kept while it runs; the card shows a tail, artifacts hold the rest (I-17).
const ANSWER_KEPT: usize = 12_000;

/// Characters of a step.
const STEP_KEPT: usize = 300;

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
        Err(why) => return fail(&parts, &run, why, None).await,
    };
    let (id, warden, now) = (run.id.clone(), prepared.warden(), parts.clock.now());
    let recorded = parts.ledger.write("warden", move |tx| runs::record_warden(tx, &id, warden, now)).await;
    if recorded.is_err() {
        // Cancelled in between: the warden is dropped unstarted, so nothing ran and nothing is left.
        drop(prepared);
        return cancelled_unstarted(&parts, &run).await;
    }
    let job = match prepared.go().await {
        Ok(job) => job,
        Err(error) => return fail(&parts, &run, error.to_string(), None).await,
    };
    let mut told = Told::default();
    match follow(&parts, &run, job, &tokens, &mut told).await? {
        Followed::Ended(ending) => end(&parts, run, ending, told, &tokens).await,
        Followed::Stopped(ending) => recover::interrupt(&parts, &run.id, (ending.ended, ending.gone)).await,
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
    answer: String,
    changed: bool,
    steps: Vec<String>,
    usage: Usage,
    cost: Option<MicroUsd>,
}

impl Told {
    fn take(&mut self, event: Event) {
        match event {
            Event::Started | Event::Ended(_) => {}
            Event::Step(step) => self.steps.push(text::cut(&text::one_line(&step), STEP_KEPT)),
            Event::Text(more) => {
                self.answer.push_str(&more);
                self.answer = text::tail(&self.answer, ANSWER_KEPT);
                self.changed = true;
            }
            Event::Tool(name, what) => {
                self.steps.push(text::cut(&text::one_line(&format!("{name}: {what}")), STEP_KEPT));
            }
            Event::Permission(_, what) => {
                self.steps.push(text::cut(&format!("asked for permission: {what}"), STEP_KEPT))
            }
            Event::Usage(usage, cost) => {
                self.usage = usage;
                self.cost = cost.or(self.cost);
            }
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

async fn end(
    parts: &Arc<WorkParts>,
    run: runs::Run,
    ending: Ending,
    told: Told,
    tokens: &Tokens,
) -> Result<(), Failure> {
    let (cost, basis) = price(parts, &told);
    let (id, bot, now) = (run.id.clone(), parts.bot.clone(), parts.clock.now());
    let usage = told.usage.clone();
    let row = run.clone();
    let state = parts
        .ledger
        .write("ended", move |tx| {
            let was = runs::state(tx, &id)?.unwrap_or(RunState::Started);
            let (event, error) = decide(was, &ending);
            let left = runs::Left { summary: Some(ending.summary.clone()), error, ended_processes: Some(ending.ended) };
            runs::leave(tx, &id, &left)?;
            runs::set_usage(tx, &id, &usage)?;
            let state = runs::apply(tx, &id, event, now)?;
            if state != RunState::Finishing {
                spend::settle(tx, &id, cost, basis)?;
                claim::receipt(tx, &bot, &row, now)?;
            }
            Ok(state)
        })
        .await?;
    if state == RunState::Finishing {
        artifacts::and_receipt(parts, &run, (cost, basis), &tokens.stop).await
    } else {
        Ok(())
    }
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
    let (row, bot, now) = (run.clone(), parts.bot.clone(), parts.clock.now());
    parts
        .ledger
        .write("ended", move |tx| {
            if runs::state(tx, &row.id)? == Some(RunState::Cancelling) {
                runs::apply(tx, &row.id, RunEvent::Gone, now)?;
                spend::settle(tx, &row.id, MicroUsd(0), Basis::Free)?;
                claim::receipt(tx, &bot, &row, now)?;
            }
            Ok(())
        })
        .await?;
    Ok(())
}

async fn fail(parts: &WorkParts, run: &runs::Run, why: String, cost: Option<MicroUsd>) -> Result<(), Failure> {
    let (row, bot, now) = (run.clone(), parts.bot.clone(), parts.clock.now());
    parts
        .ledger
        .write("ended", move |tx| {
            let event = match runs::state(tx, &row.id)? {
                Some(RunState::Cancelling) => RunEvent::Gone,
                _ => RunEvent::Fail,
            };
            runs::leave(tx, &row.id, &runs::Left { error: Some(why), ..runs::Left::default() })?;
            runs::apply(tx, &row.id, event, now)?;
            // Nothing ran, so nothing was spent.
            spend::settle(tx, &row.id, cost.unwrap_or_default(), Basis::Exact)?;
            claim::receipt(tx, &bot, &row, now)
        })
        .await?;
    Ok(())
}

/// Finishes a run that had ended before this process started: artifacts, then the receipt.
pub async fn finish(parts: Arc<WorkParts>, run: runs::Run, tokens: Tokens) -> Result<(), Failure> {
    let basis = parts.backend.basis();
    let cost = if basis == Basis::Free { MicroUsd(0) } else { parts.limits.unknown_run.min(parts.limits.run_max) };
    artifacts::and_receipt(&parts, &run, (cost, basis), &tokens.stop).await
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
