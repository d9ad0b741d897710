//! A running host and the commands beside it: its lock, its socket, and who may use it.

use std::io::Read;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cli::Person;

/// A host in the foreground; ended when dropped.
struct Host(Child);

impl Host {
    fn start(me: &Person) -> Self {
        let mut command = me.command(&["host", "run", "--channel-id", "555", "--fake"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // It says so when it holds the workspace.
        let mut said = Vec::new();
        let mut byte = [0];
        let stderr = child.stderr.as_mut().unwrap();
        while !String::from_utf8_lossy(&said).contains("The host runs.") {
            assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn i_15_a_second_host_is_told_which_one_runs() {
    let me = Person::new();
    let mut first = Host::start(&me);
    let pid = first.0.id();
    let second = me.types(&["host", "run", "--channel-id", "555", "--fake", "--json"]);
    assert_eq!(second.code, 7, "{}", second.stderr);
    assert!(second.json()["error"]["message"].as_str().unwrap().contains(&pid.to_string()));
    let status = me.types(&["status", "--fake", "--json"]).json();
    assert_eq!((&status["running"], &status["pid"]), (&true.into(), &pid.into()));
    first.signal(Signal::SIGTERM);
    assert_eq!(first.0.wait().unwrap().code(), Some(0));
    assert_eq!(me.types(&["status", "--fake", "--json"]).json()["running"], Value::Bool(false));
}

#[test]
fn i_15_a_killed_host_leaves_nothing_in_the_way() {
    let me = Person::new();
    let mut first = Host::start(&me);
    first.signal(Signal::SIGKILL);
    first.0.wait().unwrap();
    let mut second = Host::start(&me);
    second.signal(Signal::SIGTERM);
    assert_eq!(second.0.wait().unwrap().code(), Some(0));
}

#[test]
fn commands_go_on_working_beside_a_host() {
    let me = Person::new();
    let _host = Host::start(&me);
    std::fs::write(me.cwd().join("a.txt"), "hello").unwrap();
    let put = me.types(&["put", "a.txt", "--channel-id", "555", "--fake", "--json"]);
    assert_eq!(put.code, 0, "{}", put.stderr);
    let listed = me.types(&["ls", "--channel-id", "555", "--fake", "--json"]).json();
    assert_eq!(listed, put.json());
    let pair = me.types(&["pair", "--user-id", "77", "--role", "operator", "--fake", "--json"]);
    assert_eq!((pair.code, &pair.json()["changed"]), (0, &true.into()));
    let off = me.types(&["run", "What is here?", "--channel-id", "555", "--fake", "--json"]);
    assert_eq!((off.code, &off.json()["error"]["kind"]), (3, &"refused".into()), "{}", off.stderr);
}

#[test]
fn i_18_a_process_of_a_run_cannot_act_through_the_host() {
    let me = Person::new();
    let _host = Host::start(&me);
    std::fs::write(me.cwd().join("a.txt"), "hello").unwrap();
    for args in [
        vec!["put", "a.txt", "--channel-id", "555", "--fake", "--json"],
        vec!["pair", "--user-id", "77", "--role", "owner", "--fake", "--json"],
        vec!["spend", "--resume", "--fake", "--json"],
    ] {
        let done: crate::cli::Done = me.command(&args).env("DISCORD_OS_RUN", "mark").output().unwrap().into();
        assert_eq!((done.code, &done.json()["error"]["kind"]), (3, &"refused".into()), "{args:?}: {}", done.stderr);
    }
    assert_eq!(me.types(&["status", "--fake", "--json"]).json()["people"], 0);
}
