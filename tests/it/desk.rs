//! The machine: a simulator that outlives everything, and the real host beside it, which can be started, crashed and
//! started again on the same workspace.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::sim::client::{Control, Violation};
use discord_os::sim::{Endpoints, Options, Sim};
use rusqlite::Connection;
use tempfile::TempDir;

use super::phone::{Phone, until};

/// The real binary.
pub const BIN: &str = env!("CARGO_BIN_EXE_discord-os");

/// A machine with a simulator and, most of the time, a host. Dropped, it fails the test where the host sent what
/// Discord would refuse.
pub struct Desk {
    folder: TempDir,
    sim: Sim,
    host: Option<Child>,
    settings: Vec<(String, String)>,
}

impl Desk {
    /// A machine whose jobs are done by `command` (shell words), declared free. No host runs yet.
    pub async fn with(command: &str) -> Self {
        let options = Options { heartbeat_ms: Some(1000), seed: Some(7), ..Options::default() };
        Self::on(options, command).await
    }

    /// The same with a simulator of other options.
    pub async fn on(options: Options, command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bound")).unwrap();
        let sim = Sim::start(options, SystemClock::shared(), Arc::new(Entropy::system())).await.unwrap();
        let settings = vec![
            ("AGENT_DISCORD_BACKEND".to_owned(), "command".to_owned()),
            ("DISCORD_OS_COMMAND".to_owned(), command.to_owned()),
            ("DISCORD_OS_COMMAND_COST".to_owned(), "free".to_owned()),
        ];
        Self { folder, sim, host: None, settings }
    }

    /// Sets a variable for hosts that are started from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Takes a variable away again.
    pub fn unset(&mut self, name: &str) {
        self.settings.retain(|(known, _)| known != name);
    }

    pub fn endpoints(&self) -> &Endpoints {
        self.sim.endpoints()
    }

    /// Folder for a test's own files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A command of the real binary on this machine: nothing inherited but what every program needs.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BIN);
        command.args(args).env_clear().current_dir(self.folder.path().join("bound"));
        for name in ["PATH", "LANG", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", self.folder.path())
            .env("AGENT_DISCORD_WORKSPACE", self.workspace())
            .env("DISCORD_API_BASE", &self.endpoints().api_base)
            .env("DISCORD_BOT_TOKEN", &self.endpoints().bot_token)
            .env("PUPPETMASTER_CWD", self.folder.path().join("bound"))
            .envs(self.settings.iter().cloned());
        command
    }

    /// Starts the host. Does not wait for it.
    pub fn start(&mut self) {
        assert!(self.host.is_none(), "a host runs already");
        let (channel, guild) = (self.endpoints().channel.to_string(), self.endpoints().guild.to_string());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log_path()).unwrap();
        let mut command = self.command(&["-v", "host", "run", "--channel-id", &channel, "--guild-id", &guild]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.host = Some(command.spawn().unwrap());
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("host.log")
    }

    /// What the host logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Whether the host's process is there.
    pub fn is_running(&mut self) -> bool {
        self.host.as_mut().is_some_and(|host| matches!(host.try_wait(), Ok(None)))
    }

    /// Kills the host as a power cut would.
    pub fn crash(&mut self) {
        if let Some(mut host) = self.host.take() {
            host.kill().ok();
            host.wait().ok();
        }
    }

    /// Waits until the host ends by itself (a crash point).
    pub async fn wait_for_end(&mut self) {
        until("the host ends", async || (!self.is_running()).then_some(())).await;
        self.crash();
    }

    /// Waits until the host ends by itself. Gives its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        let mut host = self.host.take().unwrap();
        until("the host ends", async || host.try_wait().unwrap()).await.code()
    }

    /// Asks the host to stop (SIGTERM) and waits for it. Gives its exit code.
    pub async fn stop(&mut self) -> Option<i32> {
        let pid = self.host.as_ref().map(Child::id).expect("a host runs");
        let pid = nix::unistd::Pid::from_raw(pid as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let mut host = self.host.take().unwrap();
        until("the host stops", async || host.try_wait().unwrap()).await.code()
    }

    /// The phone of the guild's owner, the teammate, the stranger.
    pub fn owner(&self) -> Phone {
        Phone::of(self.endpoints(), self.endpoints().people.owner)
    }

    pub fn stranger(&self) -> Phone {
        Phone::of(self.endpoints(), self.endpoints().people.stranger)
    }

    /// Looks into the ledger with SQL; `None` while it is not there yet.
    pub fn ledger(&self) -> Option<Connection> {
        let path = self.workspace().join("ledger.db");
        let open = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
        open.ok().filter(|db| db.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).is_ok())
    }

    /// One number out of the ledger; 0 while there is none.
    pub fn count(&self, sql: &str) -> i64 {
        self.ledger().and_then(|db| db.query_row(sql, [], |row| row.get(0)).ok()).unwrap_or(0)
    }

    /// Waits until a number out of the ledger is `wanted`.
    pub async fn counts(&self, wanted: i64, sql: &str) {
        until(&format!("{sql} is {wanted}"), async || (self.count(sql) == wanted).then_some(())).await;
    }

    /// Every process that carries the mark of a run of this ledger.
    pub fn marked_processes(&self) -> Vec<i32> {
        let Some(db) = self.ledger() else { return Vec::new() };
        let mut marks = db.prepare("SELECT mark FROM runs").unwrap();
        let marks: Vec<String> = marks.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        marks.iter().flat_map(|mark| discord_os::exec::tree::marked(mark)).map(|p| p.pid).collect()
    }
}

/// Asks for violations from a thread of its own: a test that ends cannot await any more.
fn violations(endpoints: &Endpoints) -> Vec<Violation> {
    let ask = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Control::new(endpoints).unwrap().violations().await.unwrap() })
    };
    std::thread::scope(|scope| scope.spawn(ask).join().unwrap())
}

impl Drop for Desk {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.crash();
            let found = violations(self.endpoints());
            assert!(found.is_empty(), "the host sent what Discord would refuse: {found:#?}");
        }
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            eprintln!("the host's log ends:\n{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
        self.crash();
    }
}
