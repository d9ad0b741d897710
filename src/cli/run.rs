//! `run`: do one task on the terminal.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::args::Where;
use super::follow::{self, Follow};
use super::print::{self, Out};
use super::signals;
use super::wire::{Desk, Shell};
use crate::base::failure::{Failure, Kind};
use crate::base::stop::Stop;
use crate::config::settings::refuse_later_backend;
use crate::host::build::{Duty, Host, Plan};
use crate::host::deeds::{About, Deed, Done};
use crate::host::hand::{Hand, unexpected};
use crate::host::{lock, report};
use crate::ledger::{Ledger, approvals, control, views};
use crate::model::power::Power;
use crate::model::receipt::RunJson;
use crate::model::run::RunState;
use crate::model::task;
use crate::verbs::{Outcome, Tools, Verb, ask};

/// Longest wait for the cards and the receipt after the run has ended.
const LAST_POSTS: Duration = Duration::from_secs(15);

/// Time between two looks at what is still to be posted.
const LOOK: Duration = Duration::from_millis(50);

/// Time between two looks at whether the host that does the task is still there.
const HOST_LOOK: Duration = Duration::from_millis(250);

/// How long an interrupted run may take to end: its processes have 5 s between TERM and KILL. What it made is not
/// waited for: the next host posts it.
const FAREWELL: Duration = Duration::from_secs(8);

/// Where a person can change why an order is refused.
pub(super) const CARD: &str =
    "The HOST card has the buttons: On, Resume, and those of a job. `discord-os status` tells how it is.";

/// Do one task on the terminal.
///
/// Steps are told on stderr, the answer streams on stdout. Work that may change files asks first; without a terminal it
/// needs --approve. Where a host runs on the workspace, that host does it. Work runs in PUPPETMASTER_CWD [default: the
/// current folder].
#[derive(Debug, Args)]
pub struct Run {
    /// What you want done.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Where.
    #[command(flatten)]
    pub place: Where,
    /// Who does the work: command or fake [default: AGENT_DISCORD_BACKEND; with --fake the demo's agent].
    #[arg(long)]
    pub backend: Option<String>,
    /// Say yes to work that may change files.
    #[arg(long)]
    pub approve: bool,
    /// Post nothing, now or later. Files that it makes stay in the workspace; the summary names their folder.
    #[arg(long)]
    pub no_discord_post: bool,
}

/// Does it.
pub async fn run(shell: &Shell, args: &Run) -> Result<Out, Failure> {
    if args.task.trim().is_empty() {
        return Err(Failure::usage("The task is empty.").hint("Say what you want done, in quotes."));
    }
    if args.task.trim().chars().count() > ask::MAX_ASK {
        return Err(Failure::usage(format!("The task is longer than {} characters.", ask::MAX_ASK))
            .hint("Say it in fewer words, or put the rest into a file of the folder."));
    }
    let waits = task::guess(&args.task).waits_for_approval();
    if waits && !args.approve && !print::can_ask() {
        return Err(Failure::refused("This task may change files, and there is no terminal to ask on.")
            .hint("Give --approve to say yes, or ask a question that names no change."));
    }
    let desk = shell.desk(&args.place, true, args.backend.as_deref()).await?;
    let result = on_desk(&desk, args).await;
    desk.close().await;
    result
}

async fn on_desk(desk: &Desk, args: &Run) -> Result<Out, Failure> {
    desk.channel()?;
    if let hand @ Hand::Host(_) = desk.hand().await? {
        if args.no_discord_post {
            return Err(Failure::new(Kind::AlreadyRunning, "A host runs on this workspace, and posts what it does.")
                .hint("Leave --no-discord-post out, or stop that host, or give another --workspace."));
        }
        let ledger =
            desk.reader()?.ok_or_else(|| Failure::not_found("The host has no ledger yet.").hint("Try again."))?;
        let stop = Stop::new();
        return signals::heed(&stop, task(desk, args, &hand, &ledger, &stop)).await;
    }
    refuse_later_backend(&desk.loaded.settings)?;
    let plan = Plan {
        loaded: desk.loaded.clone(),
        discord: Arc::<crate::discord::rest::Rest>::clone(&desk.discord),
        clock: Arc::clone(&desk.shell.clock),
        entropy: Arc::clone(&desk.shell.entropy),
        staff: (desk.channel()?, desk.guild()),
        duty: if args.no_discord_post { Duty::TaskAlone } else { Duty::TaskShown },
    };
    let host = Host::build(plan).await?;
    let (ledger, tools) = (host.ledger.clone(), host.tools.clone());
    let (stop, interrupted) = (Stop::new(), Stop::new());
    let work = async {
        let mine = Tools { silent: args.no_discord_post, ..tools.clone() };
        let hand = Hand::Own(Box::new((ledger.clone(), mine)));
        let mut result = while_on(desk, &hand, &tools, task(desk, args, &hand, &ledger, &interrupted)).await;
        if !args.no_discord_post {
            tokio::select! {
                () = posted(&ledger, &tools) => {}
                () = interrupted.wait() => {}
                lost = desk.lost() => result = result.and(Err(lost)),
            }
        }
        stop.stop();
        result
    };
    let (result, ended) = signals::heed(&interrupted, async { Ok(tokio::join!(work, host.run(stop.clone()))) }).await?;
    match (result, ended) {
        (Ok(out), Ok(())) => Ok(out),
        (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
    }
}

/// Typing the command is the wish to have it done: a host that is Off is On meanwhile.
async fn while_on(
    desk: &Desk,
    hand: &Hand,
    tools: &Tools,
    task: impl Future<Output = Result<Out, Failure>>,
) -> Result<Out, Failure> {
    let host = tools.host.clone();
    let was = match hand {
        Hand::Own(own) => own.0.read(move |read| control::host(read, &host)).await?.map(|host| host.power),
        Hand::Host(_) => Some(Power::On),
    };
    let off = was != Some(Power::On);
    if off {
        order(desk, hand, Verb::On).await?;
    }
    let result = task.await;
    if off {
        order(desk, hand, Verb::OffConfirm).await?;
    }
    result
}

/// Orders something and gives what it is about; refused is an error.
async fn order(desk: &Desk, hand: &Hand, verb: Verb) -> Result<Option<About>, Failure> {
    match hand.perform(Deed::Order { verb, channel: desk.channel()?, guild: desk.guild() }).await? {
        Done::Order { outcome: Outcome::Done, about, .. } => Ok(about),
        Done::Order { outcome: Outcome::Unknown, text, .. } => Err(Failure::not_found(text)),
        Done::Order { text, .. } => Err(Failure::refused(text).hint(CARD)),
        other => Err(unexpected(&other)),
    }
}

async fn task(desk: &Desk, args: &Run, hand: &Hand, ledger: &Ledger, stop: &Stop) -> Result<Out, Failure> {
    let ask = Verb::Ask { text: args.task.clone() };
    let about = order(desk, hand, ask).await?.ok_or_else(|| Failure::failed("No run was made for the task."))?;
    let json = desk.shell.global.json;
    let say = |text: &str| desk.shell.say(text);
    let mut follow = Follow::new(ledger.clone(), about.run.clone(), !json);
    say(&format!("{} is taken.", about.code()));
    let end = tokio::select! {
        end = to_the_end(desk, args, hand, &about, &mut follow) => end?,
        () = stop.wait() => End::Interrupted,
        () = host_gone(desk, hand) => End::HostGone,
        lost = desk.lost(), if matches!(hand, Hand::Own(_)) => End::Lost(lost),
    };
    if !matches!(end, End::Itself) {
        call_off(desk, hand, &about, &mut follow, &end).await?;
    }
    if follow.needs_line_end() {
        print::piece("\n");
    }
    let id = about.run.clone();
    let run = ledger.read(move |read| report::run(read, &id)).await?;
    let run = run.ok_or_else(|| Failure::new(Kind::Integrity, "The run is gone from the ledger."))?;
    match end {
        End::Lost(lost) => Err(lost),
        _ if run.status.ended() => Ok(told(&run, follow.showed() && !json)),
        End::HostGone => Err(Failure::failed(format!("The host ended while {} was {}.", run.code, state(&run)))
            .hint(format!("Start a host; then `discord-os jobs show {}` tells what became of it.", run.code))),
        _ => Err(Failure::failed(format!("Interrupted while {} was {}.", run.code, state(&run)))
            .hint(format!("The host settles the rest, now or when it is started next; see `jobs show {}`.", run.code))),
    }
}

fn state(run: &RunJson) -> &'static str {
    match run.status {
        RunState::Finishing => "done and its files were being stored",
        RunState::Waiting => "waiting for a yes",
        RunState::Cancelling => "being cancelled",
        RunState::Queued => "queued",
        _ => "running",
    }
}

/// Why a task is followed no longer.
enum End {
    /// The run has ended.
    Itself,
    /// Ctrl-C.
    Interrupted,
    /// The host that did it is gone.
    HostGone,
    /// The simulator that was joined is gone.
    Lost(Failure),
}

async fn to_the_end(desk: &Desk, args: &Run, hand: &Hand, about: &About, follow: &mut Follow) -> Result<End, Failure> {
    let say = |text: &str| desk.shell.say(text);
    if follow.until(&say, |_| true).await? == RunState::Waiting {
        decide(desk, args, hand, about).await?;
    }
    follow.until(&say, RunState::ended).await.map(|_| End::Itself)
}

/// Cancels what runs, and waits until that has ended, but for nothing else.
async fn call_off(desk: &Desk, hand: &Hand, about: &About, follow: &mut Follow, end: &End) -> Result<(), Failure> {
    if matches!(end, End::HostGone) {
        return Ok(());
    }
    let say = |text: &str| desk.shell.say(text);
    say("Cancelling; a second Ctrl-C does not wait.");
    // It may have ended this very moment; what it did is told either way.
    order(desk, hand, Verb::Cancel { run: about.run.clone() }).await.ok();
    let over = |state: RunState| state.ended() || state == RunState::Finishing;
    match tokio::time::timeout(FAREWELL, follow.until(&say, over)).await {
        Ok(done) => done.map(drop),
        Err(_) => Ok(()),
    }
}

/// Waits until the host that the task was given to has ended; for ever where this process does it.
async fn host_gone(desk: &Desk, hand: &Hand) {
    if matches!(hand, Hand::Own(_)) {
        return std::future::pending().await;
    }
    while lock::holder(desk.loaded.workspace.root()).is_some() {
        tokio::time::sleep(HOST_LOOK).await;
    }
}

async fn decide(desk: &Desk, args: &Run, hand: &Hand, about: &About) -> Result<(), Failure> {
    let run = about.run.clone();
    let Some(ledger) = desk.reader()? else { return Ok(()) };
    let pending = ledger.read(move |read| approvals::pending_of(read, &run)).await?;
    // Somebody else may have decided meanwhile.
    let Some(pending) = pending else { return Ok(()) };
    let yes = args.approve || {
        let question =
            format!("{} may change files below {}. Go on?", about.code(), desk.loaded.settings.cwd.display());
        tokio::task::spawn_blocking(move || print::ask(&question)).await.unwrap_or(false)
    };
    let verb = match yes {
        true => Verb::Approve { approval: pending.id },
        false => Verb::Deny { approval: pending.id },
    };
    order(desk, hand, verb).await.map(drop)
}

fn told(run: &RunJson, answered: bool) -> Out {
    let human = match answered && run.status == RunState::Done {
        true => follow::tail(run).trim_start_matches('\n').to_owned(),
        false => follow::receipt(run),
    };
    let code = match run.status {
        RunState::Done => 0,
        RunState::Denied => Kind::Refused.exit_code(),
        _ => Kind::Failed.exit_code(),
    };
    Out::new(json!(run), human).code(code)
}

/// Waits until what the run left to say in Discord is said, or until that takes too long: the rest is said by the next
/// host.
async fn posted(ledger: &Ledger, tools: &Tools) {
    let all = async {
        loop {
            let bot = tools.bot.clone();
            match ledger.read(move |read| views::to_show(read, &bot)).await {
                Ok(0) | Err(_) => return,
                Ok(_) => tokio::time::sleep(LOOK).await,
            }
        }
    };
    if tokio::time::timeout(LAST_POSTS, all).await.is_err() {
        tracing::warn!("Not everything could be posted yet; the next host or run does it.");
    }
}
