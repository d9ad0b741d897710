//! Ask: a sentence becomes a task and its first run, or the next turn of the task whose thread it was written in.

use super::policy::Allowed;
use super::{Answer, Outcome, Tools};
use crate::base::ids::{ApprovalId, ChannelId, RunId, TaskCode, TaskId};
use crate::base::redact::redact;
use crate::base::text;
use crate::ledger::approvals::{self, NewApproval};
use crate::ledger::outbox::{self, Said, Target};
use crate::ledger::runs::{self, NewRun};
use crate::ledger::tasks::{self, NewTask, Task};
use crate::ledger::{self, Read, Write, channels, control};
use crate::model::actor::Role;
use crate::model::approval;
use crate::model::card::Post;
use crate::model::power::Power;
use crate::model::reply::{Field, Form, Reply};
use crate::model::run::RunState;
use crate::model::tap::{Tap, TapVerb};
use crate::model::task::{self, Mode};

/// Longest ask, in code points: what Discord's form takes (discord/facts.md 3.2), so that every face takes the same.
pub const MAX_ASK: usize = 4000;

/// Name of the form's one field.
pub const FIELD: &str = "text";

/// How much of an ask its starter message shows, in code points. Escaped it is at most twice as long, and the whole
/// stays under Discord's 2,000.
const STARTER_SHOWS: usize = 800;

/// Why an ask cannot be taken now, though its author may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The host is off.
    Off,
    /// New work is halted.
    Halted,
    /// The task of this thread has a run that has not ended.
    Busy(TaskCode),
}

impl Closed {
    /// The same for the person who asked.
    pub fn sentence(&self) -> String {
        match self {
            Self::Off => "This host is off; tap On on its card.".to_owned(),
            Self::Halted => "New work is halted; tap Resume on the HOST card.".to_owned(),
            Self::Busy(code) => format!("{code} is still running; wait for its receipt, or tap Cancel."),
        }
    }
}

/// Whether the host takes no work at all now.
///
/// # Errors
/// The ledger's own.
pub fn closed(read: &Read<'_>, tools: &Tools) -> ledger::Result<Option<Closed>> {
    let host = control::host(read, &tools.host)?;
    Ok(match host {
        Some(host) if host.power == Power::On && !host.halted => None,
        Some(host) if host.power == Power::On => Some(Closed::Halted),
        _ => Some(Closed::Off),
    })
}

/// The same for an ask in one channel, which may be the thread of a task that is still busy.
///
/// # Errors
/// The ledger's own.
pub fn closed_in(read: &Read<'_>, tools: &Tools, channel: ChannelId) -> ledger::Result<Option<Closed>> {
    if let Some(closed) = closed(read, tools)? {
        return Ok(Some(closed));
    }
    let Some(task) = tasks::of_thread(read, channel)? else { return Ok(None) };
    let busy = runs::latest(read, &task.id)?.is_some_and(|run| !run.state.ended());
    Ok(busy.then_some(Closed::Busy(task.code)))
}

pub(super) fn form(tx: &Write<'_>, allowed: &Allowed<'_>) -> ledger::Result<Answer> {
    let (order, tools) = (allowed.order(), allowed.tools());
    if let Some(closed) = closed(tx, tools)? {
        return Ok(Answer::refused(closed.sentence()));
    }
    let form = Form {
        custom_id: tools.signer.sign(&Tap::new(TapVerb::Ask, tools.host.as_str(), ""), order.place.channel, None),
        title: "Ask".to_owned(),
        fields: vec![Field {
            custom_id: FIELD.to_owned(),
            label: "What do you want done?".to_owned(),
            placeholder: "A question runs at once; anything that may change files waits for Approve.".to_owned(),
            paragraph: true,
            max_length: MAX_ASK as u16,
        }],
    };
    Ok(Answer::new(Outcome::Done, Reply::Form(form)))
}

pub(super) fn ask(tx: &Write<'_>, allowed: &Allowed<'_>, text: &str) -> ledger::Result<Answer> {
    let order = allowed.order();
    // What a person wrote is kept: neither a secret nor a signed link may come in with it (I-10, I-11).
    let text = redact(text.trim());
    let text = text.as_str();
    if text.is_empty() {
        return Ok(Answer::refused("Nothing was asked. Write what you want done."));
    }
    if text.chars().count() > MAX_ASK {
        return Ok(Answer::refused(format!("That is longer than {MAX_ASK} characters. Say it in fewer words.")));
    }
    if let Some(closed) = closed_in(tx, allowed.tools(), order.place.channel)? {
        return Ok(Answer::refused(closed.sentence()));
    }
    // What is never shown is no turn of a job that is.
    let of_thread = match allowed.tools().silent {
        true => None,
        false => tasks::of_thread(tx, order.place.channel)?,
    };
    let task = match of_thread {
        Some(task) => task,
        None => new_task(tx, allowed, text)?,
    };
    turn(tx, allowed, &task, text)
}

fn new_task(tx: &Write<'_>, allowed: &Allowed<'_>, text: &str) -> ledger::Result<Task> {
    let (order, tools) = (allowed.order(), allowed.tools());
    let now = tools.clock.now();
    let known = channels::get(tx, &tools.bot, order.place.channel)?;
    let new = NewTask {
        id: TaskId(tools.entropy.id(now)),
        bot: tools.bot.clone(),
        channel: order.place.channel,
        guild: order.place.guild.or(known.and_then(|channel| channel.guild)),
        ask_message: order.place.message,
        asker: order.actor.label(),
        asker_name: order.name.clone(),
        text: text.to_owned(),
        mode: task::guess(text),
    };
    let code = tasks::create(tx, &new, now)?;
    if tools.silent {
        tasks::never_show(tx, &new.id)?;
    } else if new.ask_message.is_none() {
        let post = Post::text(format!(
            "**{code}** asked by {}\n>>> {}",
            text::plain(&text::one_line(&text::cut(&order.name, 80))),
            text::plain(&text::cut(text, STARTER_SHOWS))
        ));
        let target = Target::Channel(new.channel);
        outbox::say(tx, &tools.bot, &target, &Said::Starter(new.id.clone()), &post, now)?;
    }
    Ok(Task {
        id: new.id,
        code,
        bot: new.bot,
        channel: new.channel,
        guild: new.guild,
        ask_message: new.ask_message,
        thread: None,
        asker: new.asker,
        asker_name: new.asker_name,
        text: new.text,
        mode: new.mode,
        at: now,
    })
}

/// Records the next run of a task. It waits for a person's yes unless it is certainly a question (I-7).
pub(super) fn turn(tx: &Write<'_>, allowed: &Allowed<'_>, task: &Task, prompt: &str) -> ledger::Result<Answer> {
    let tools = allowed.tools();
    let now = tools.clock.now();
    let mode = task::guess(prompt);
    let waits = mode.waits_for_approval();
    let run = NewRun {
        id: RunId(tools.entropy.id(now)),
        task: task.id.clone(),
        prompt: prompt.to_owned(),
        backend: tools.backend.clone(),
        state: if waits { RunState::Waiting } else { RunState::Queued },
        host: tools.host.clone(),
        mark: tools.entropy.hex::<16>(),
    };
    runs::create(tx, &run, now)?;
    if waits {
        let action = action(mode, &run.backend, prompt);
        let new = NewApproval {
            id: ApprovalId(tools.entropy.id(now)),
            run: run.id.clone(),
            digest: approval::digest(&run.id, &action),
            action,
            approvers: Role::Approver,
        };
        approvals::ask(tx, &new, now)?;
    }
    let text = match waits {
        true => format!("{} waits for Approve, since it may change something.", task.code),
        false => format!("{} is taken.", task.code),
    };
    Ok(Answer::done(text).about(&task.id, task.code, &run.id))
}

/// What is approved: another prompt, mode or backend is another action.
fn action(mode: Mode, backend: &str, prompt: &str) -> String {
    format!("{}\n{backend}\n{prompt}", mode.as_str())
}
