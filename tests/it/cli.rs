//! The command line as people type it: the real program, its exit codes, its JSON.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::desk::Desk;

/// A person at a machine of their own.
pub struct Person {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

/// What a command did.
pub struct Done {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Done {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {:?} {}", String::from_utf8_lossy(&self.stdout), self.stderr))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl From<Output> for Done {
    fn from(out: Output) -> Self {
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        Self { code: out.status.code().unwrap_or(-1), stdout: out.stdout, stderr }
    }
}

impl Person {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["home", "cwd"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir, vars: vec![] }
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.into(), value.into()));
        self
    }

    pub fn cwd(&self) -> PathBuf {
        self.dir.path().join("cwd")
    }

    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("home/.agent-discord")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_discord-os"));
        command.args(args).current_dir(self.cwd()).env_clear().stdin(std::process::Stdio::null());
        command.env("HOME", self.dir.path().join("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.envs(self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        command
    }

    pub fn types(&self, args: &[&str]) -> Done {
        self.command(args).output().unwrap().into()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.cwd().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn error_of(done: &Done, code: i32, kind: &str) -> String {
    assert_eq!(done.code, code, "{} {}", done.text(), done.stderr);
    let json = done.json();
    assert_eq!(json["error"]["kind"], kind);
    assert!(json["error"]["message"].as_str().unwrap().ends_with('.'), "{json}");
    assert!(json["error"]["hint"].is_string(), "{json}");
    json["error"]["message"].as_str().unwrap().to_owned()
}

fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn help_names_every_command_and_no_hidden_one() {
    let help = Person::new().types(&["--help"]);
    assert_eq!(help.code, 0);
    let commands = "demo run host put get ls status jobs spend pair bootstrap check config invite sim";
    for command in commands.split(' ') {
        assert!(help.text().contains(&format!("  {command} ")), "{command}: {}", help.text());
        let own = Person::new().types(&[command, "--help"]);
        assert_eq!(own.code, 0, "{command}");
    }
    for hidden in ["warden", "demo-agent", "fake-agent"] {
        assert!(!help.text().contains(hidden));
    }
    assert_eq!(Person::new().types(&[]).code, 2);
}

#[test]
fn errors_are_one_sentence_and_a_hint_with_their_exit_code() {
    let me = Person::new();
    error_of(&me.types(&["put", "nothing", "--channel-id", "1", "--json"]), 2, "usage");
    error_of(&me.types(&["no-such-command", "--json"]), 2, "usage");
    error_of(&me.types(&["jobs", "show", "DOS-9", "--json"]), 4, "not_found");
    let plain = me.types(&["put", "nothing", "--channel-id", "1"]);
    assert!(plain.stdout.is_empty() && plain.stderr.contains("error: ") && plain.stderr.contains("hint: "));
    assert!(!me.workspace().exists(), "a refused command made a workspace");
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    let me = Person::new();
    std::fs::create_dir_all(me.workspace()).unwrap();
    std::fs::write(me.workspace().join("config.toml"), "DISCORD_CHANEL_ID = \"1\"\n").unwrap();
    let message = error_of(&me.types(&["config", "--json"]), 2, "usage");
    assert!(message.contains("DISCORD_CHANEL_ID") && message.contains("config.toml"), "{message}");
    assert!(me.types(&["config"]).stderr.contains("DISCORD_CHANNEL_ID"));
}

#[test]
fn i_11_settings_show_a_secret_as_a_fingerprint_only() {
    let me = Person::new().var("DISCORD_BOT_TOKEN", "hush-hush-hush-hush");
    let shown = me.types(&["config"]);
    assert!(shown.code == 0 && shown.text().contains("fingerprint") && !shown.text().contains("hush"));
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    let me = Person::new();
    let file = me.dir.path().join("home/.pmharness/.discord_token");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "token-token-token").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let message = error_of(&me.types(&["check", "--json"]), 2, "usage");
    assert!(message.contains(".discord_token"), "{message}");
}

#[test]
fn a_workspace_of_the_python_program_is_not_ignored() {
    let me = Person::new().var("DISCORD_BOT_TOKEN", "token-token-token");
    std::fs::create_dir_all(me.cwd().join(".agent-discord")).unwrap();
    std::fs::write(me.cwd().join(".agent-discord/bootstrap.json"), "{}").unwrap();
    let message = error_of(&me.types(&["bootstrap", "--json"]), 2, "usage");
    assert!(message.contains("Python"), "{message}");
}

#[test]
fn the_default_backend_says_that_it_comes_later() {
    let me = Person::new().var("DISCORD_BOT_TOKEN", "token-token-token");
    let done = me.types(&["host", "run", "--channel-id", "1", "--json"]);
    let message = error_of(&done, 2, "usage");
    assert!(message.contains("puppetmaster"), "{message}");
    assert!(done.json()["error"]["hint"].as_str().unwrap().contains("DISCORD_OS_COMMAND"));
}

#[test]
fn what_is_put_comes_back_as_the_same_bytes() {
    let me = Person::new().var("DISCORD_MAX_OBJECT_BYTES", "100000");
    let names = ["one.bin", "seventy.bin", "cap.bin", "报告 2026.txt", "a 'b' \"c\" d.txt"];
    for (name, size) in names.into_iter().zip([1, 70_000, 100_000, 10, 11]) {
        let sent = me.file(name, &bytes(size));
        let put = me.types(&["put", sent.to_str().unwrap(), "--channel-id", "555", "--fake", "--json"]);
        assert_eq!(put.code, 0, "{name}: {}{}", put.text(), put.stderr);
        let object = &put.json()[0];
        assert_eq!((&object["filename"], &object["size"]), (&Value::from(name), &Value::from(size)));
        assert!(object.get("url").is_none() && !put.text().contains("/attachments/"), "I-10");
        let out = me.cwd().join("got");
        let message = object["message_id"].as_str().unwrap();
        let get = ["get", message, "--channel-id", "555", "--out", out.to_str().unwrap(), "--fake", "--json"];
        let got = me.types(&get);
        assert_eq!(got.code, 0, "{name}: {}{}", got.text(), got.stderr);
        assert_eq!((std::fs::read(&out).unwrap(), &got.json()), (bytes(size), object));
        std::fs::remove_file(out).unwrap();
    }
    let listed = me.types(&["ls", "--channel-id", "555", "--fake", "--json"]).json();
    let listed: Vec<&str> = listed.as_array().unwrap().iter().map(|o| o["filename"].as_str().unwrap()).collect();
    assert_eq!(listed, names.into_iter().rev().collect::<Vec<_>>());
    let over = me.file("over.bin", &bytes(100_001));
    let refused = me.types(&["put", over.to_str().unwrap(), "--channel-id", "555", "--fake", "--json"]);
    assert!(error_of(&refused, 2, "usage").contains("has 100001 bytes"));
    let empty = me.file("empty", b"");
    error_of(&me.types(&["put", empty.to_str().unwrap(), "--channel-id", "555", "--fake", "--json"]), 2, "usage");
}

#[test]
fn i_10_an_object_is_found_by_its_channel_only_and_replaces_nothing() {
    let me = Person::new();
    let sent = me.file("a.txt", b"hello");
    let put = me.types(&["put", sent.to_str().unwrap(), "--channel-id", "555", "--fake", "--json"]).json();
    let (message, sha) = (put[0]["message_id"].as_str().unwrap(), put[0]["sha256"].as_str().unwrap());
    let get = |key: &str, channel: &str, out: &Path, more: &[&str]| {
        let out = out.to_str().unwrap();
        let mut args = vec!["get", key, "--channel-id", channel, "--out", out, "--fake", "--json"];
        args.extend(more);
        me.types(&args)
    };
    let out = me.cwd().join("out");
    error_of(&get(message, "666", &out, &[]), 3, "refused");
    error_of(&get("157650000000000000", "555", &out, &[]), 4, "not_found");
    error_of(&get("no-such-name", "555", &out, &[]), 4, "not_found");
    assert!(!out.exists());
    for key in [message, put[0]["artifact_id"].as_str().unwrap(), &format!("sha256:{}", &sha[..8]), "a.txt"] {
        assert_eq!(get(key, "555", &out, &["--force"]).code, 0, "{key}");
        assert_eq!(std::fs::read(&out).unwrap(), b"hello");
    }
    std::fs::write(&out, "mine").unwrap();
    error_of(&get(message, "555", &out, &[]), 2, "usage");
    assert_eq!(std::fs::read(&out).unwrap(), b"mine");
    let piped = me.types(&["get", message, "--channel-id", "555", "--fake"]);
    assert_eq!((piped.code, piped.stdout.as_slice()), (0, b"hello".as_slice()));
    let left: Vec<_> = std::fs::read_dir(me.cwd()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn an_object_is_found_without_a_ledger() {
    let me = Person::new();
    let sent = me.file("a.txt", b"hello");
    let put = me.types(&["put", sent.to_str().unwrap(), "--channel-id", "555", "--fake", "--json"]).json();
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        std::fs::remove_file(me.workspace().join("sim").join(file)).ok();
    }
    let key = put[0]["message_id"].as_str().unwrap();
    let got = me.types(&["get", key, "--channel-id", "555", "--fake", "--json", "--out", "b.txt"]);
    assert_eq!((got.code, &got.json()), (0, &put[0]), "{}", got.stderr);
}

#[test]
fn a_question_is_worked_on_at_the_terminal() {
    let me = Person::new();
    me.file("a.txt", b"one\ntwo\n");
    let done = me.types(&["run", "What is in this folder?", "--channel-id", "555", "--fake", "--json"]);
    assert_eq!(done.code, 0, "{}{}", done.text(), done.stderr);
    let run = done.json();
    assert_eq!(
        (&run["status"], &run["code"], &run["money"]["basis"]),
        (&"done".into(), &"DOS-1".into(), &"free".into())
    );
    let made: Vec<&str> =
        run["artifacts"].as_array().unwrap().iter().map(|a| a["filename"].as_str().unwrap()).collect();
    assert_eq!(made, ["chart.svg", "report.md"]);
    assert!(done.stderr.contains("Writing the report"), "{}", done.stderr);
    let status = me.types(&["status", "--fake", "--json"]).json();
    assert_eq!((&status["running"], &status["power"]), (&false.into(), &"off".into()));
    let shown = me.types(&["jobs", "show", "DOS-1", "--fake", "--json"]).json();
    assert_eq!(shown["run_id"], run["run_id"]);
}

#[test]
fn i_7_file_work_without_a_terminal_needs_a_yes() {
    let me = Person::new();
    let args = ["run", "Delete the old logs", "--channel-id", "555", "--fake", "--json"];
    error_of(&me.types(&args), 3, "refused");
    assert!(!me.workspace().join("sim/ledger.db").exists());
    let mut yes = args.to_vec();
    yes.push("--approve");
    let done = me.types(&yes);
    assert_eq!((done.code, &done.json()["status"]), (0, &"done".into()), "{}", done.stderr);
}

#[test]
fn nothing_is_posted_where_nothing_shall_be_now_or_later() {
    let me = Person::new();
    let run = |task: &str, more: &[&str]| {
        let mut args = vec!["run", task, "--channel-id", "555", "--fake", "--json"];
        args.extend(more);
        me.types(&args)
    };
    let dry = run("What is here?", &["--no-discord-post"]);
    let json = dry.json();
    assert_eq!((dry.code, &json["status"], &json["jump_url"]), (0, &"done".into(), &Value::Null), "{}", dry.stderr);
    assert_eq!(json["artifacts"], Value::Array(vec![]));
    let summary = json["summary"].as_str().unwrap();
    let folder = summary.rsplit_once("2 files are kept in ").unwrap().1.trim_end_matches('.');
    assert!(Path::new(folder).join("report.md").exists() && dry.stderr.contains(folder), "{summary}");
    let shown = me.types(&["jobs", "show", "DOS-1", "--fake", "--json"]).json();
    assert_eq!(shown, json);
    // A later run that posts has nothing of the first to post.
    let loud = run("What is here now?", &[]);
    assert_eq!((loud.code, &loud.json()["code"]), (0, &"DOS-2".into()), "{}", loud.stderr);
    let listed = me.types(&["ls", "--channel-id", "555", "--fake", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let journal = std::fs::read_to_string(me.workspace().join("sim/world/journal.jsonl")).unwrap();
    assert!(journal.contains("DOS-2") && !journal.contains("DOS-1"), "DOS-1 was posted");
}

/// Waits until a command that runs has said something on stderr; gives all it said so far.
fn hears(child: &mut std::process::Child, what: &str) {
    use std::io::Read;
    let (mut said, mut byte) = (Vec::new(), [0_u8]);
    let stderr = child.stderr.as_mut().unwrap();
    while !String::from_utf8_lossy(&said).contains(what) {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "it ended: {}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
}

fn interrupt(child: &std::process::Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
}

fn spawned(mut command: Command) -> std::process::Child {
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

#[test]
fn ctrl_c_cancels_a_run_and_leaves_no_process() {
    let me = Person::new();
    let mut command =
        me.command(&["run", "What is here?", "--channel-id", "555", "--json", "--fake", "--backend", "command"]);
    command.env("DISCORD_OS_COMMAND", "sleep 4711").env("DISCORD_OS_COMMAND_COST", "free");
    let mut child = spawned(command);
    hears(&mut child, "is taken");
    let state = || me.types(&["jobs", "list", "--fake", "--json"]).json()[0]["status"].clone();
    while state() != "started" {}
    interrupt(&child);
    let done: Done = child.wait_with_output().unwrap().into();
    assert_eq!((done.code, &done.json()["status"]), (1, &"cancelled".into()), "{}", done.stderr);
    let left = Command::new("pgrep").args(["-f", "^sleep 4711"]).output().unwrap();
    assert!(left.stdout.is_empty(), "a process is left");
}

#[test]
fn a_simulator_that_ends_under_a_host_is_named() {
    let me = Person::new();
    let mut sim = spawned(me.command(&["sim"]));
    let endpoint = me.workspace().join("sim/world/endpoint.json");
    while !endpoint.exists() {}
    let mut host = spawned(me.command(&["-v", "host", "run", "--fake", "--json"]));
    hears(&mut host, "The host runs");
    let beside = me.types(&["host", "run", "--fake", "--json"]);
    error_of(&beside, 7, "already_running");
    let dry = ["run", "What is here?", "--fake", "--no-discord-post", "--json"];
    assert!(error_of(&me.types(&dry), 7, "already_running").contains("posts what it does"));
    interrupt(&sim);
    assert!(sim.wait().unwrap().success());
    let done: Done = host.wait_with_output().unwrap().into();
    assert!(error_of(&done, 6, "discord").contains("simulator"), "{}", done.stderr);
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let me = Person::new();
    for args in [vec!["config"], vec!["config", "--json"], vec!["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done: Done = me.command(&args).stdout(full).output().unwrap().into();
        assert!(
            done.code == 1 && done.stderr.contains("could not be written"),
            "{args:?} {} {}",
            done.code,
            done.stderr
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done: Done = me.command(&args).stdout(writer).output().unwrap().into();
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{args:?}: a reader that went away");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_waits_for_no_discord_that_does_not_answer() {
    let mut desk = Desk::with("sh -c 'cat > /dev/null; echo x > $DISCORD_OS_ARTIFACTS/a.txt; echo made'").await;
    let on = json!({"method": "POST", "path": "/channels/*/messages/*/threads"});
    let rules = json!([{"on": on, "times": 100, "do": {"kind": "stall", "ms": 60_000}}]);
    desk.owner().control.faults(rules).await.unwrap();
    let channel = desk.endpoints().channel.to_string();
    let mut child = spawned(desk.command(&["run", "What is here?", "--channel-id", &channel, "--json"]));
    hears(&mut child, "is taken");
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'finishing'").await;
    interrupt(&child);
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let ended = tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("it waits for Discord");
    let message = error_of(&ended.unwrap().into(), 1, "failed");
    assert!(message.contains("its files were being stored"), "{message}");
    desk.owner().control.clear_faults().await.unwrap();
    desk.start();
    desk.counts(1, "SELECT count(*) FROM runs WHERE state = 'done'").await;
    desk.counts(1, "SELECT count(*) FROM objects WHERE run_id IS NOT NULL").await;
}
