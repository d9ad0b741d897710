//! From layers of text to [`Settings`].

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layers::{Layers, Source, Value, malformed, read};
use super::names::{self as n, Known};
use super::workspace::{Workspace, refuse_foreign};
use crate::base::failure::{Failure, Kind};
use crate::base::money::MicroUsd;
use crate::base::redact;
use crate::base::secret::Secret;
use crate::model::settings::{BackendChoice, CommandCost, Limits, Settings};

/// Discord itself.
pub const DISCORD: &str = "https://discord.com";

/// What children get of our environment besides what a run adds: enough to find programs, a home and a language,
/// nothing that could hold a secret.
const CHILD_ENV: [&str; 14] = [
    "HOME",
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
];

/// Names that say which Discord this is. The simulator's own replace them.
const IDENTITY: [&str; 6] = [
    n::DISCORD_BOT_TOKEN,
    n::DISCORD_APPLICATION_ID,
    n::DISCORD_CHANNEL_ID,
    n::DISCORD_GUILD_ID,
    n::DISCORD_OWNER_ID,
    n::DISCORD_API_BASE,
];

/// Most live runs that can be set: each is several processes and pipes (I-17).
const MOST_LIVE: usize = 64;

/// Largest object that can be set: Discord's own largest upload for any guild is 500 MiB (discord/facts.md section 3).
const MOST_OBJECT_BYTES: u64 = 500 << 20;

/// What a command line asks for.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// `--workspace`.
    pub workspace: Option<PathBuf>,
    /// Values of flags by name; they win.
    pub flags: Vec<(&'static str, String)>,
    /// Whether this is the simulator's world: its workspace is `sim/` of the other, and what says which Discord this
    /// is comes from `flags` alone.
    pub fake: bool,
}

/// One line of `discord-os config`.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Name.
    pub name: &'static str,
    /// Value, or a secret's fingerprint; `None`: not set.
    pub value: Option<String>,
    /// Where it came from.
    pub source: Source,
}

/// Settings, and what else the environment told.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The workspace that they belong to.
    pub workspace: Workspace,
    /// Each name with its value and source, for people.
    pub shown: Vec<Shown>,
    /// What children inherit.
    pub child_env: Vec<(OsString, OsString)>,
    /// Folder for short-lived sockets whose workspace path is too long.
    pub runtime_dir: Option<PathBuf>,
    /// Home of the person.
    pub home: Option<PathBuf>,
    /// Current folder.
    pub current: PathBuf,
    /// Whether colour is unwanted.
    pub no_color: bool,
}

impl Loaded {
    /// Refuses to start beside a Python workspace that was not taken over.
    ///
    /// # Errors
    /// See [`refuse_foreign`].
    pub fn refuse_foreign(&self) -> Result<(), Failure> {
        refuse_foreign(&self.workspace, &self.current, self.home.as_deref())
    }
}

/// Reads everything that can be set, and guards the secrets found.
///
/// # Errors
/// A usage failure that names the key, where it was set, and what it should be.
#[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn load(ask: &Ask) -> Result<Loaded, Failure> {
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let current = std::env::current_dir().map_err(|e| {
        Failure::failed(format!("The current folder cannot be found: {e}.")).hint("Change to a folder that exists.")
    })?;
    from(ask, &env, &current)
}

fn from(ask: &Ask, env: &[(OsString, OsString)], current: &Path) -> Result<Loaded, Failure> {
    let var = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let home = var("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let (real, from_where) = find_workspace(ask, var(n::AGENT_DISCORD_WORKSPACE), home.as_deref(), current)?;
    let workspace = if ask.fake { real.sim() } else { real };
    let mut layers = Layers::default();
    layers.config_toml(&workspace.root().join("config.toml"))?;
    layers.dotenv(&workspace.root().join(".env"))?;
    layers.environment(env)?;
    if ask.fake {
        IDENTITY.iter().for_each(|name| layers.forget(name));
    } else if layers.get(n::DISCORD_BOT_TOKEN).is_none() {
        token_file(&mut layers, home.as_deref())?;
    }
    layers.set(n::AGENT_DISCORD_WORKSPACE, workspace.root().display().to_string(), from_where);
    for (name, value) in &ask.flags {
        layers.set(name, value.clone(), Source::Flag);
    }
    let settings = settings(&layers, &workspace, current)?;
    let child_env = env.iter().filter(|(name, _)| name.to_str().is_some_and(|n| CHILD_ENV.contains(&n))).cloned();
    Ok(Loaded {
        shown: n::ALL.iter().map(|known| show(known, &layers, &settings)).collect(),
        child_env: child_env.collect(),
        runtime_dir: var("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute()),
        no_color: layers.get(n::NO_COLOR).is_some(),
        home,
        current: current.to_owned(),
        workspace,
        settings,
    })
}

fn find_workspace(
    ask: &Ask,
    env: Option<OsString>,
    home: Option<&Path>,
    current: &Path,
) -> Result<(Workspace, Source), Failure> {
    if let Some(path) = &ask.workspace {
        return Ok((Workspace::at(current.join(path)), Source::Flag));
    }
    if let Some(path) = env.filter(|path| !path.is_empty()).map(PathBuf::from) {
        // A relative path would make the workspace depend on the current folder.
        if !path.is_absolute() {
            return Err(Failure::usage(format!("AGENT_DISCORD_WORKSPACE is {path:?}, which is not an absolute path."))
                .hint("Set it to a path that starts with /."));
        }
        return Ok((Workspace::at(path), Source::Environment));
    }
    let home = home.ok_or_else(|| {
        Failure::usage("HOME is not set, so there is no place for the workspace.")
            .hint("Set AGENT_DISCORD_WORKSPACE to an absolute path.")
    })?;
    Ok((Workspace::at(home.join(".agent-discord")), Source::Default))
}

/// The Python program's token file: its first line, if nobody else can read it.
fn token_file(layers: &mut Layers, home: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = home.map(|home| home.join(".pmharness/.discord_token")) else { return Ok(()) };
    let Ok(meta) = std::fs::metadata(&path) else { return Ok(()) };
    if meta.permissions().mode() & 0o077 != 0 || meta.uid() != nix::unistd::Uid::effective().as_raw() {
        return Err(Failure::usage(format!("The token file {} can be read by others.", path.display()))
            .hint(format!("Run `chmod 600 {}`, and reset the token if others use this machine.", path.display())));
    }
    let text = read(&path)?.unwrap_or_default();
    if let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) {
        layers.set(n::DISCORD_BOT_TOKEN, line.to_owned(), Source::TokenFile(path));
    }
    Ok(())
}

fn settings(layers: &Layers, workspace: &Workspace, current: &Path) -> Result<Settings, Failure> {
    let token = layers.parsed(n::DISCORD_BOT_TOKEN, "a bot token", token)?;
    if let Some(token) = &token {
        redact::guard(token);
    }
    let want_cost = "free or unknown";
    let cost = layers.parsed(n::DISCORD_OS_COMMAND_COST, want_cost, |text| match text {
        "free" => Some(CommandCost::Free),
        "unknown" => Some(CommandCost::Unknown),
        _ => None,
    })?;
    let cwd = layers.parsed(n::PUPPETMASTER_CWD, "a folder that exists", |text| {
        let path = current.join(text);
        path.is_dir().then(|| path.canonicalize().ok()).flatten()
    })?;
    Ok(Settings {
        workspace: workspace.root().to_owned(),
        api_base: layers
            .parsed(n::DISCORD_API_BASE, "an https address, or http on loopback", api_base)?
            .unwrap_or_else(|| DISCORD.to_owned()),
        token,
        application: layers.id(n::DISCORD_APPLICATION_ID)?,
        channel: layers.id(n::DISCORD_CHANNEL_ID)?,
        guild: layers.id(n::DISCORD_GUILD_ID)?,
        owner: layers.id(n::DISCORD_OWNER_ID)?,
        backend: backend(layers)?,
        command_cost: cost.unwrap_or_default(),
        cwd: cwd.unwrap_or_else(|| current.to_owned()),
        limits: limits(layers)?,
        message_content: layers.parsed(n::DISCORD_OS_MESSAGE_CONTENT, "on or off", on_off)?.unwrap_or(true),
    })
}

fn limits(layers: &Layers) -> Result<Limits, Failure> {
    let usual = Limits::default();
    let usd = |name| layers.parsed(name, "an amount in US dollars such as 2.50", |t| t.parse::<MicroUsd>().ok());
    let time = |name| {
        layers.parsed(name, "a length of time such as 90s, 2min or 1h", |text| {
            humantime::parse_duration(text).ok().filter(|time| *time > Duration::ZERO)
        })
    };
    let live = |text: &str| text.parse().ok().filter(|n| (1..=MOST_LIVE).contains(n));
    let bytes = |text: &str| text.parse().ok().filter(|n| (1..=MOST_OBJECT_BYTES).contains(n));
    Ok(Limits {
        spend_cap: usd(n::DISCORD_OS_SPEND_CAP_USD)?.unwrap_or(usual.spend_cap),
        run_max: usd(n::DISCORD_OS_RUN_MAX_USD)?.unwrap_or(usual.run_max),
        unknown_run: usd(n::DISCORD_OS_UNKNOWN_RUN_USD)?.unwrap_or(usual.unknown_run),
        max_live: layers.parsed(n::DISCORD_OS_MAX_LIVE, "a number from 1 to 64", live)?.unwrap_or(usual.max_live),
        run_deadline: time(n::DISCORD_OS_RUN_DEADLINE)?.unwrap_or(usual.run_deadline),
        catchup_auto: time(n::DISCORD_OS_CATCHUP_AUTO)?.unwrap_or(usual.catchup_auto),
        max_object_bytes: layers
            .parsed(n::DISCORD_MAX_OBJECT_BYTES, "a number of bytes from 1 to 524288000", bytes)?
            .unwrap_or(usual.max_object_bytes),
    })
}

fn backend(layers: &Layers) -> Result<BackendChoice, Failure> {
    let command = layers.get(n::DISCORD_OS_COMMAND);
    let Some(value) = layers.get(n::AGENT_DISCORD_BACKEND) else { return Ok(BackendChoice::Puppetmaster) };
    match value.text.as_str() {
        "puppetmaster" => Ok(BackendChoice::Puppetmaster),
        "fake" => Ok(BackendChoice::Fake),
        "command" => command_words(command),
        "auto" | "acp" | "openai" | "marionette" => {
            Err(Failure::usage(format!("The backend {} comes in a later version.", value.text)).hint(LATER))
        }
        _ => Err(malformed(n::AGENT_DISCORD_BACKEND, value, "command, fake or puppetmaster")),
    }
}

/// What to do where a backend comes later.
const LATER: &str = "Set AGENT_DISCORD_BACKEND=command and DISCORD_OS_COMMAND to your program, or try --backend fake.";

fn command_words(value: Option<&Value>) -> Result<BackendChoice, Failure> {
    let Some(value) = value else {
        return Err(Failure::usage("The command backend has no command.")
            .hint("Set DISCORD_OS_COMMAND to a program and its arguments, as you would type them."));
    };
    match shell_words::split(&value.text) {
        Ok(words) if !words.is_empty() => Ok(BackendChoice::Command(words)),
        _ => Err(malformed(n::DISCORD_OS_COMMAND, value, "a command line with closed quotes")),
    }
}

/// Refuses a backend that is not built yet, where work would be done.
///
/// # Errors
/// A usage failure that says what to set instead.
pub fn refuse_later_backend(settings: &Settings) -> Result<(), Failure> {
    match settings.backend {
        BackendChoice::Puppetmaster => {
            Err(Failure::new(Kind::Usage, "The puppetmaster backend (the default) comes in a later version.")
                .hint(LATER))
        }
        BackendChoice::Command(_) | BackendChoice::Fake => Ok(()),
    }
}

/// A bot token as it can stand in a header; a leading `Bot ` is what people copy by mistake.
fn token(text: &str) -> Option<Secret> {
    let text = text.trim().trim_start_matches("Bot ").trim();
    let fits = |b: u8| b.is_ascii_graphic();
    (text.len() >= 8 && text.len() <= 200 && text.bytes().all(fits)).then(|| Secret::new(text))
}

fn on_off(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// `https` anywhere, plain `http` on loopback only; no path, query or account.
fn api_base(text: &str) -> Option<String> {
    let text = text.trim_end_matches('/');
    let (scheme, rest) = text.split_once("://")?;
    if rest.is_empty() || rest.contains(['/', '?', '#', '@']) {
        return None;
    }
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => rest.split(':').next()?,
    };
    let loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    (scheme == "https" || (scheme == "http" && loopback)).then(|| text.to_owned())
}

fn show(known: &Known, layers: &Layers, settings: &Settings) -> Shown {
    if let Some(value) = layers.get(known.name) {
        let text = if known.secret {
            format!("[fingerprint {}]", Secret::new(value.text.clone()).fingerprint())
        } else {
            value.text.clone()
        };
        return Shown { name: known.name, value: Some(text), source: value.source.clone() };
    }
    Shown { name: known.name, value: usual(known.name, settings), source: Source::Default }
}

fn usual(name: &str, settings: &Settings) -> Option<String> {
    let limits = &settings.limits;
    let plain = |amount: MicroUsd| amount.to_string().trim_start_matches('$').to_owned();
    let time = |time| humantime::format_duration(time).to_string();
    Some(match name {
        n::DISCORD_API_BASE => settings.api_base.clone(),
        n::DISCORD_MAX_OBJECT_BYTES => limits.max_object_bytes.to_string(),
        n::DISCORD_OS_MESSAGE_CONTENT => "on".to_owned(),
        n::AGENT_DISCORD_BACKEND => "puppetmaster".to_owned(),
        n::DISCORD_OS_COMMAND_COST => "unknown".to_owned(),
        n::PUPPETMASTER_CWD => settings.cwd.display().to_string(),
        n::DISCORD_OS_SPEND_CAP_USD => plain(limits.spend_cap),
        n::DISCORD_OS_RUN_MAX_USD => plain(limits.run_max),
        n::DISCORD_OS_UNKNOWN_RUN_USD => plain(limits.unknown_run),
        n::DISCORD_OS_MAX_LIVE => limits.max_live.to_string(),
        n::DISCORD_OS_RUN_DEADLINE => time(limits.run_deadline),
        n::DISCORD_OS_CATCHUP_AUTO => time(limits.catchup_auto),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        dir: tempfile::TempDir,
        env: Vec<(OsString, OsString)>,
    }

    impl Desk {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(dir.path().join("home/.agent-discord")).unwrap();
            let env = vec![("HOME".into(), dir.path().join("home").into())];
            Self { dir, env }
        }

        fn env(mut self, name: &str, value: &str) -> Self {
            self.env.push((name.into(), value.into()));
            self
        }

        fn file(self, name: &str, text: &str) -> Self {
            std::fs::write(self.dir.path().join("home/.agent-discord").join(name), text).unwrap();
            self
        }

        fn load(&self, ask: &Ask) -> Result<Loaded, Failure> {
            from(ask, &self.env, self.dir.path())
        }
    }

    fn shown(loaded: &Loaded, name: &str) -> (Option<String>, Source) {
        let line = loaded.shown.iter().find(|line| line.name == name).unwrap();
        (line.value.clone(), line.source.clone())
    }

    #[test]
    fn later_layers_win() {
        let ask = |flags| Ask { flags, ..Ask::default() };
        let desk = Desk::new();
        assert_eq!(desk.load(&ask(vec![])).unwrap().settings.limits.max_live, 8);
        let desk = desk.file("config.toml", "DISCORD_OS_MAX_LIVE = 1");
        assert_eq!(desk.load(&ask(vec![])).unwrap().settings.limits.max_live, 1);
        let desk = desk.file(".env", "export DISCORD_OS_MAX_LIVE='2'\nOPENROUTER_API_KEY=x");
        assert_eq!(desk.load(&ask(vec![])).unwrap().settings.limits.max_live, 2);
        let desk = desk.env("DISCORD_OS_MAX_LIVE", "3");
        assert_eq!(desk.load(&ask(vec![])).unwrap().settings.limits.max_live, 3);
        let loaded = desk.load(&ask(vec![(n::DISCORD_OS_MAX_LIVE, "4".into())])).unwrap();
        assert_eq!(loaded.settings.limits.max_live, 4);
        assert_eq!(shown(&loaded, n::DISCORD_OS_MAX_LIVE), (Some("4".into()), Source::Flag));
    }

    #[test]
    fn every_name_works_alike_from_all_three() {
        for (name, value) in [
            (n::DISCORD_BOT_TOKEN, "abcdefgh.ijkl"),
            (n::DISCORD_APPLICATION_ID, "1"),
            (n::DISCORD_CHANNEL_ID, "2"),
            (n::DISCORD_GUILD_ID, "3"),
            (n::DISCORD_OWNER_ID, "4"),
            (n::DISCORD_API_BASE, "http://127.0.0.1:9"),
            (n::DISCORD_MAX_OBJECT_BYTES, "5"),
            (n::DISCORD_OS_MESSAGE_CONTENT, "off"),
            (n::AGENT_DISCORD_BACKEND, "fake"),
            (n::DISCORD_OS_COMMAND, "a 'b c'"),
            (n::DISCORD_OS_COMMAND_COST, "free"),
            (n::PUPPETMASTER_CWD, "/"),
            (n::DISCORD_OS_SPEND_CAP_USD, "1.5"),
            (n::DISCORD_OS_RUN_MAX_USD, "1"),
            (n::DISCORD_OS_UNKNOWN_RUN_USD, "0.1"),
            (n::DISCORD_OS_MAX_LIVE, "2"),
            (n::DISCORD_OS_RUN_DEADLINE, "90s"),
            (n::DISCORD_OS_CATCHUP_AUTO, "1min"),
            (n::NO_COLOR, "1"),
        ] {
            let ask = Ask::default();
            let seen: Vec<String> = [
                Desk::new().env(name, value),
                Desk::new().file(".env", &format!("{name}=\"{value}\"")),
                Desk::new().file("config.toml", &format!("{name} = \"{value}\"")),
            ]
            .iter()
            .map(|desk| {
                let loaded = desk.load(&ask).unwrap();
                assert_ne!(shown(&loaded, name).1, Source::Default, "{name}");
                let settings = Settings { workspace: PathBuf::new(), cwd: PathBuf::new(), ..loaded.settings.clone() };
                format!("{settings:?} {} {:?}", loaded.no_color, shown(&loaded, name).0)
            })
            .collect();
            assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {seen:#?}");
        }
    }

    #[test]
    fn an_unknown_key_names_itself_its_file_and_the_nearest() {
        let failure = Desk::new().file("config.toml", "DISCORD_CHANEL_ID = 1").load(&Ask::default()).unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        assert!(failure.message.contains("DISCORD_CHANEL_ID") && failure.message.contains("config.toml"), "{failure}");
        assert!(failure.hint.unwrap().contains("DISCORD_CHANNEL_ID"));
    }

    #[test]
    fn a_malformed_value_names_its_key_and_where_it_stands() {
        for (name, value) in [
            (n::DISCORD_CHANNEL_ID, "12a"),
            (n::DISCORD_OWNER_ID, "@me"),
            (n::DISCORD_API_BASE, "http://discord.com"),
            (n::DISCORD_API_BASE, "https://discord.com/api"),
            (n::DISCORD_API_BASE, "ftp://127.0.0.1"),
            (n::DISCORD_MAX_OBJECT_BYTES, "10MB"),
            (n::DISCORD_MAX_OBJECT_BYTES, "0"),
            (n::AGENT_DISCORD_BACKEND, "puppetmaker"),
            (n::DISCORD_OS_COMMAND_COST, "cheap"),
            (n::PUPPETMASTER_CWD, "/no/such/folder"),
            (n::DISCORD_OS_SPEND_CAP_USD, "-1"),
            (n::DISCORD_OS_MAX_LIVE, "0"),
            (n::DISCORD_OS_RUN_DEADLINE, "soon"),
            (n::DISCORD_OS_MESSAGE_CONTENT, "maybe"),
        ] {
            let desk = Desk::new().file(".env", &format!("{name}={value}"));
            let failure = desk.load(&Ask::default()).unwrap_err();
            assert_eq!(failure.kind, Kind::Usage);
            assert!(failure.message.contains(name) && failure.message.contains(".env"), "{failure}");
        }
    }

    #[test]
    fn i_11_a_secret_is_shown_as_a_fingerprint() {
        let desk = Desk::new().env(n::DISCORD_BOT_TOKEN, "hush-hush-hush");
        let loaded = desk.load(&Ask::default()).unwrap();
        assert!(!format!("{:?} {:?}", loaded.shown, loaded.settings).contains("hush"));
        let failure = Desk::new().env(n::DISCORD_BOT_TOKEN, "hush hush").load(&Ask::default()).unwrap_err();
        assert!(!failure.to_string().contains("hush"), "{failure}");
    }

    #[test]
    fn the_token_file_counts_last_and_only_when_private() {
        let desk = Desk::new();
        let file = desk.dir.path().join("home/.pmharness/.discord_token");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "token-from-file\nsecond line\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let token = |desk: &Desk| desk.load(&Ask::default()).unwrap().settings.token.unwrap().expose().to_owned();
        assert_eq!(token(&desk), "token-from-file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let refused = desk.load(&Ask::default()).unwrap_err();
        assert!(refused.kind == Kind::Usage && refused.message.contains(".discord_token"), "{refused}");
        assert_eq!(token(&desk.env(n::DISCORD_BOT_TOKEN, "token-from-env")), "token-from-env");
    }

    #[test]
    fn the_workspace_never_depends_on_the_current_folder() {
        let loaded = Desk::new().load(&Ask::default()).unwrap();
        assert!(loaded.workspace.root().ends_with("home/.agent-discord"));
        let refused = Desk::new().env(n::AGENT_DISCORD_WORKSPACE, "relative").load(&Ask::default()).unwrap_err();
        assert!(refused.message.contains("absolute"));
        let inside = Desk::new().file("config.toml", "AGENT_DISCORD_WORKSPACE = \"/x\"").load(&Ask::default());
        assert_eq!(inside.unwrap_err().kind, Kind::Usage);
    }

    #[test]
    fn the_simulator_has_a_workspace_and_an_identity_of_its_own() {
        let desk = Desk::new().env(n::DISCORD_BOT_TOKEN, "the-real-token").env(n::DISCORD_OWNER_ID, "77");
        let ask = Ask { fake: true, flags: vec![(n::DISCORD_CHANNEL_ID, "5".into())], ..Ask::default() };
        let loaded = desk.load(&ask).unwrap();
        assert!(loaded.workspace.root().ends_with(".agent-discord/sim"));
        assert_eq!((loaded.settings.token, loaded.settings.owner), (None, None));
        assert_eq!(loaded.settings.channel.map(|c| c.0), Some(5));
    }

    #[test]
    fn a_backend_of_a_later_version_is_named() {
        let loaded = Desk::new().load(&Ask::default()).unwrap();
        let refused = refuse_later_backend(&loaded.settings).unwrap_err();
        assert!(refused.kind == Kind::Usage && refused.hint.unwrap().contains("AGENT_DISCORD_BACKEND"));
        let desk = Desk::new().env(n::AGENT_DISCORD_BACKEND, "command").env(n::DISCORD_OS_COMMAND, "sh -c 'echo a b'");
        let settings = desk.load(&Ask::default()).unwrap().settings;
        assert_eq!(settings.backend, BackendChoice::Command(vec!["sh".into(), "-c".into(), "echo a b".into()]));
        assert!(refuse_later_backend(&settings).is_ok());
    }

    #[test]
    fn children_inherit_no_secret() {
        let desk =
            Desk::new().env("OPENROUTER_API_KEY", "x").env(n::DISCORD_BOT_TOKEN, "hush-hush").env("PATH", "/bin");
        let child = desk.load(&Ask::default()).unwrap().child_env;
        let names: Vec<_> = child.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["HOME", "PATH"]);
    }
}
