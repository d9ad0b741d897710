//! Builds a host from its parts and runs it. The wide list of parts is taken apart here and nowhere else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Clock;
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::ids::{ChannelId, GuildId};
use crate::base::stop::Stop;
use crate::compute::Backend;
use crate::compute::command::Command;
use crate::compute::fake::Fake;
use crate::config::settings::refuse_later_backend;
use crate::config::{Loaded, settings};
use crate::discord::Discord;
use crate::exec::wardens::Wardens;
use crate::intake::{Intake, IntakeParts};
use crate::ledger::people::{Person, Subject};
use crate::ledger::{Ledger, bots, channels, control, mirrors, people};
use crate::model::actor::{Actor, Role};
use crate::model::settings::{BackendChoice, Settings};
use crate::relay::cards::host::Face;
use crate::relay::{Relay, RelayParts};
use crate::verbs::Tools;
use crate::work::{Work, WorkParts};

use super::lock::{Lock, TokenLock};
use super::supervise::{Member, Pace, Supervisor};
use super::{hand, socket};

/// How long the socket's callers may take when the host stops: their answers are short.
const SOCKET_PATIENCE: Duration = Duration::from_secs(2);

/// How long hearing may take to stop: it closes the gateway so that the session stays resumable.
const INTAKE_PATIENCE: Duration = Duration::from_secs(8);

/// How long work may take to stop: TERM, 5 s of grace, KILL, looks, and the rows about it.
const WORK_PATIENCE: Duration = Duration::from_secs(25);

/// How long showing may take to stop: one call to Discord on its way.
const RELAY_PATIENCE: Duration = Duration::from_secs(8);

/// The same where a person waits at the terminal: what was on its way is read back by the next host (I-12).
const RELAY_HASTE: Duration = Duration::from_secs(2);

/// What a host is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Hear, work and show: `host run` and the demo.
    Everything,
    /// One task from the terminal; shown in Discord as well.
    TaskShown,
    /// One task from the terminal; nothing is posted, neither of it nor of anything else.
    TaskAlone,
}

/// What a host is built from.
pub struct Plan {
    /// Settings.
    pub loaded: Loaded,
    /// Discord.
    pub discord: Arc<dyn Discord>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<Entropy>,
    /// Staff channel and its guild.
    pub staff: (ChannelId, Option<GuildId>),
    /// What it is to do.
    pub duty: Duty,
}

/// A host that is ready to run and holds its workspace.
pub struct Host {
    /// Ledger.
    pub ledger: Ledger,
    /// What deciding needs.
    pub tools: Tools,
    lock: Lock,
    members: Vec<Member>,
}

impl Host {
    /// Takes the workspace and gets everything ready; nothing runs yet.
    ///
    /// # Errors
    /// A backend that is not built yet; another host; a workspace that cannot be used.
    pub async fn build(plan: Plan) -> Result<Self, Failure> {
        refuse_later_backend(&plan.loaded.settings)?;
        plan.loaded.workspace.make()?;
        let socket = socket::path(plan.loaded.workspace.root(), plan.loaded.runtime_dir.as_deref());
        let lock = Lock::take(plan.loaded.workspace.root(), &socket, token_lock(&plan.loaded).as_ref())?;
        let (ledger, tools) = hand::open(&plan.loaded, Arc::clone(&plan.clock), Arc::clone(&plan.entropy)).await?;
        start_rows(&plan, &ledger, &tools).await?;
        let members = members(&plan, &ledger, &tools, socket);
        Ok(Self { ledger, tools, lock, members })
    }

    /// Runs until `stop`.
    ///
    /// # Errors
    /// What no restart of a loop can mend.
    pub async fn run(self, stop: Stop) -> Result<(), Failure> {
        let (clock, entropy) = (Arc::clone(&self.tools.clock), Arc::clone(&self.tools.entropy));
        let result = Supervisor { clock, entropy, pace: Pace::default() }.run(self.members, stop).await;
        drop(self.lock);
        result
    }
}

/// The simulator's token is the same in every world, and worlds do not meet.
fn token_lock(loaded: &Loaded) -> Option<TokenLock> {
    let real = loaded.settings.api_base == settings::DISCORD;
    let token = loaded.settings.token.as_ref().filter(|_| real)?;
    let folder = socket::short_folder(loaded.runtime_dir.as_deref());
    Some(TokenLock { folder, fingerprint: token.fingerprint() })
}

async fn start_rows(plan: &Plan, ledger: &Ledger, tools: &Tools) -> Result<(), Failure> {
    let boot = boot_id(tools);
    let (channel, guild) = plan.staff;
    let (tools, now) = (tools.clone(), tools.clock.now());
    let owner = plan.loaded.settings.owner;
    let everything = plan.duty == Duty::Everything;
    let rows = ledger.write("host.start", move |tx| {
        let power = control::start_host(tx, &tools.host, &boot, now)?;
        bots::ensure(tx, &tools.bot, &tools.host)?;
        if everything {
            channels::ensure_staff(tx, &tools.bot, channel, guild)?;
            mirrors::want_host(tx, &tools.bot, &tools.host, channel)?;
        }
        if let Some(user) = owner {
            let added_by = Actor::Host.label();
            let person = Person { subject: Subject::User(user), role: Role::Owner, name: None, added_by, at: now };
            people::add(tx, &tools.bot, &person)?;
        }
        Ok(power)
    });
    let power = rows.await?;
    tracing::info!("the host starts; its power is {}", power.as_str());
    Ok(())
}

/// Changes with every boot of the machine. Where the kernel does not tell, every start counts as one: that is safe.
fn boot_id(tools: &Tools) -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_else(|_| tools.entropy.id(tools.clock.now()))
}

/// The loops, in the order they start: what shows, what works, what hears, and the CLI's door last.
fn members(plan: &Plan, ledger: &Ledger, tools: &Tools, path: PathBuf) -> Vec<Member> {
    let mut members = Vec::new();
    if plan.duty != Duty::TaskAlone {
        members.push(relay(plan, ledger, tools));
    }
    members.push(work(plan, ledger, tools));
    if plan.duty == Duty::Everything {
        members.extend(intake(plan, ledger, tools));
    }
    let (ledger, tools) = (ledger.clone(), tools.clone());
    members.push(Member::new("the socket", SOCKET_PATIENCE, move |stop| {
        Box::pin(socket::serve(path.clone(), ledger.clone(), tools.clone(), stop))
    }));
    members
}

fn work(plan: &Plan, ledger: &Ledger, tools: &Tools) -> Member {
    let (ledger, tools, discord) = (ledger.clone(), tools.clone(), Arc::clone(&plan.discord));
    let backend = backend(&plan.loaded);
    let (cwd, artifacts) = (plan.loaded.settings.cwd.clone(), plan.loaded.workspace.artifacts());
    Member::new("work", WORK_PATIENCE, move |stop| {
        let parts = WorkParts {
            ledger: ledger.clone(),
            backend: Arc::clone(&backend),
            discord: Arc::clone(&discord),
            clock: Arc::clone(&tools.clock),
            entropy: Arc::clone(&tools.entropy),
            host: tools.host.clone(),
            bot: tools.bot.clone(),
            limits: tools.limits.clone(),
            cwd: cwd.clone(),
            artifacts: artifacts.clone(),
        };
        Box::pin(Work::new(parts).run(stop))
    })
}

fn relay(plan: &Plan, ledger: &Ledger, tools: &Tools) -> Member {
    let (ledger, tools, discord) = (ledger.clone(), tools.clone(), Arc::clone(&plan.discord));
    let face = face(plan);
    let patience = if plan.duty == Duty::Everything { RELAY_PATIENCE } else { RELAY_HASTE };
    Member::new("relay", patience, move |stop| {
        let parts = RelayParts {
            ledger: ledger.clone(),
            discord: Arc::clone(&discord),
            clock: Arc::clone(&tools.clock),
            entropy: Arc::clone(&tools.entropy),
            signer: tools.signer.clone(),
            bot: tools.bot.clone(),
            face: face.clone(),
        };
        Box::pin(async move {
            Relay::new(parts).run(stop).await;
            Ok(())
        })
    })
}

/// What the HOST card says of the machine: who works, and in which folder.
fn face(plan: &Plan) -> Face {
    let backend = backend(&plan.loaded);
    let folder =
        plan.loaded.settings.cwd.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned());
    Face { backend: backend.label().unwrap_or_else(|| backend.name()).to_owned(), folder }
}

fn intake(plan: &Plan, ledger: &Ledger, tools: &Tools) -> Option<Member> {
    let (ledger, tools, discord) = (ledger.clone(), tools.clone(), Arc::clone(&plan.discord));
    let Settings { token, message_content, .. } = plan.loaded.settings.clone();
    let token = token?;
    Some(Member::new("intake", INTAKE_PATIENCE, move |stop| {
        let parts = IntakeParts {
            ledger: ledger.clone(),
            discord: Arc::clone(&discord),
            tools: tools.clone(),
            token: token.clone(),
            message_content,
        };
        Box::pin(Intake::new(parts).run(stop))
    }))
}

fn backend(loaded: &Loaded) -> Arc<dyn Backend> {
    let exec = Arc::new(Wardens::new());
    match &loaded.settings.backend {
        BackendChoice::Command(words) => {
            let cost = loaded.settings.command_cost;
            Arc::new(Command::new(exec, words.clone(), loaded.child_env.clone(), cost))
        }
        // Puppetmaster was refused before.
        BackendChoice::Fake | BackendChoice::Puppetmaster => Arc::new(Fake::new(exec)),
    }
}
