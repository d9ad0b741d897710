//! The contract that every backend passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use discord_os::base::ids::RunId;
use discord_os::compute::command::Command;
use discord_os::compute::fake::{Fake, LABEL};
use discord_os::compute::{Backend, Ending, Event, Job, Outcome, Request};
use discord_os::exec::tree;
use discord_os::model::receipt::Basis;
use discord_os::model::settings::CommandCost;
use discord_os::model::task::Mode;
use tokio::time::timeout;

use super::exec::{mark, wardens};

const LONG: Duration = Duration::from_secs(60);
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a backend is told to make it do the thing that the contract looks at.
struct Prompts {
    well: &'static str,
    badly: &'static str,
    failure: &'static str,
    long: &'static str,
}

struct Desk {
    folder: tempfile::TempDir,
    name: String,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("cwd")).unwrap();
        Self { folder, name: name.to_owned() }
    }

    fn artifacts(&self) -> PathBuf {
        self.folder.path().join("artifacts")
    }

    fn request(&self, case: &str, prompt: &str) -> Request {
        Request {
            run: RunId(format!("run-{case}")),
            mark: mark(&format!("{}-{case}", self.name)),
            prompt: prompt.to_owned(),
            mode: Mode::Question,
            cwd: self.folder.path().join("cwd"),
            artifacts: self.artifacts(),
            deadline: LONG,
        }
    }
}

async fn go(backend: &dyn Backend, request: &Request) -> Job {
    backend.prepare(request.clone()).await.unwrap().go().await.unwrap()
}

/// All events up to the end of the channel.
async fn rest(job: &mut Job) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = timeout(LONG, job.events.recv()).await.expect("it goes on in time") {
        events.push(event);
    }
    events
}

/// The one end, which must be the last event.
fn end(events: &[Event]) -> &Ending {
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Ended(_))).count(), 1, "{events:?}");
    match events.last() {
        Some(Event::Ended(ending)) => ending,
        other => panic!("the last is {other:?}"),
    }
}

async fn until_text(job: &mut Job) {
    loop {
        match timeout(LONG, job.events.recv()).await.expect("it speaks in time") {
            Some(Event::Text(_)) => return,
            Some(Event::Ended(ending)) => panic!("it ended: {ending:?}"),
            Some(_) => {}
            None => panic!("it fell silent"),
        }
    }
}

/// Every backend passes this.
async fn contract(backend: &dyn Backend, prompts: &Prompts) {
    let desk = Desk::new(backend.name());
    nothing_runs_before_the_go(backend, prompts, &desk).await;
    well(backend, prompts, &desk).await;
    badly(backend, prompts, &desk).await;
    cancelled(backend, prompts, &desk).await;
    late(backend, prompts, &desk).await;
    unheard(backend, prompts, &desk).await;
    let mut nowhere = desk.request("nowhere", prompts.well);
    nowhere.cwd = PathBuf::from("/no/such/folder");
    let error = backend.prepare(nowhere).await.err().expect("a missing folder is refused");
    assert!(error.0.contains("/no/such/folder") && error.0.ends_with('.'), "{error}");
}

async fn nothing_runs_before_the_go(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let request = desk.request("dropped", prompts.well);
    let prepared = backend.prepare(request.clone()).await.unwrap();
    let warden = prepared.warden();
    assert_eq!(tree::marked(&request.mark), [warden]);
    drop(prepared);
    timeout(LONG, async {
        while tree::alive(warden) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(files(&desk.artifacts()), Vec::<String>::new());
}

async fn well(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let request = desk.request("well", prompts.well);
    let mut job = go(backend, &request).await;
    let events = rest(&mut job).await;
    assert_eq!(events[0], Event::Started);
    assert!(events.iter().any(|event| matches!(event, Event::Step(_))), "{events:?}");
    let text: String =
        events.iter().filter_map(|e| if let Event::Text(t) = e { Some(t.as_str()) } else { None }).collect();
    let ending = end(&events);
    assert_eq!((&ending.outcome, ending.gone), (&Outcome::Done, true), "{events:?}");
    assert_eq!(ending.summary, text.trim());
    assert!(!ending.summary.is_empty() && !ending.summary.contains("::step"));
    assert_eq!(files(&desk.artifacts()).len(), 1);
    assert!(tree::marked(&request.mark).is_empty());
    if !backend.capabilities().steers {
        assert!(job.handle.steer("more").await.unwrap_err().0.ends_with('.'));
    }
    if !backend.capabilities().asks_permission {
        assert!(job.handle.answer("1", true).await.unwrap_err().0.ends_with('.'));
    }
    // An end is an end: a cancel after it changes nothing.
    job.handle.cancel();
}

async fn badly(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let events = rest(&mut go(backend, &desk.request("badly", prompts.badly)).await).await;
    let ending = end(&events);
    assert_eq!((&ending.outcome, ending.gone), (&Outcome::Failed(prompts.failure.into()), true));
}

async fn cancelled(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let request = desk.request("cancelled", prompts.long);
    let mut job = go(backend, &request).await;
    until_text(&mut job).await;
    job.handle.cancel();
    let events = rest(&mut job).await;
    let ending = end(&events);
    assert_eq!((&ending.outcome, ending.gone), (&Outcome::Cancelled, true));
    // The program is not counted, its orphan is.
    assert!(ending.ended >= 1, "{ending:?}");
    assert!(tree::marked(&request.mark).is_empty());
}

async fn late(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let mut request = desk.request("late", prompts.long);
    request.deadline = Duration::from_millis(700);
    let events = rest(&mut go(backend, &request).await).await;
    let ending = end(&events);
    let Outcome::Failed(sentence) = &ending.outcome else { panic!("{ending:?}") };
    assert!(sentence.contains("deadline of 0.7 s") && sentence.ends_with('.'), "{sentence}");
    assert!(ending.gone && tree::marked(&request.mark).is_empty());
}

/// A run whose events nobody takes any more is ended, not left to itself.
async fn unheard(backend: &dyn Backend, prompts: &Prompts, desk: &Desk) {
    let request = desk.request("unheard", prompts.long);
    let mut job = go(backend, &request).await;
    until_text(&mut job).await;
    drop(job);
    timeout(LONG, async {
        while !tree::marked(&request.mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("nothing of it is left");
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

const SCRIPT: &str = r#"
read -r prompt
case "$prompt" in
well) echo "::step Thinking"; echo "You said: $prompt"; echo x > "$DISCORD_OS_ARTIFACTS/x.txt";;
badly) echo "almost"; echo "first" >&2; echo "no such file." >&2; exit 3;;
long) setsid sleep 1000 & echo "up"; wait; sleep 1000;;
env) env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= | sort;;
esac
"#;

fn command(words: &[&str]) -> Command {
    let env = [
        ("PATH", PATH),
        ("LC_ALL", "C.UTF-8"),
        ("DISCORD_BOT_TOKEN", "secret-token"),
        ("OPENROUTER_API_KEY", "secret-key"),
        ("DISCORD_OS_ARTIFACTS", "/elsewhere"),
    ];
    let env = env.map(|(name, value)| (name.into(), value.into()));
    Command::new(wardens(), words.iter().map(ToString::to_string).collect(), env, CommandCost::Unknown)
}

#[tokio::test]
async fn command_keeps_the_contract() {
    let prompts =
        Prompts { well: "well", badly: "badly", failure: "`sh` exited with code 3: no such file.", long: "long" };
    contract(&command(&["sh", "-c", SCRIPT]), &prompts).await;
}

#[tokio::test]
async fn fake_keeps_the_contract() {
    let prompts = Prompts {
        well: "Say something; lines 3",
        badly: "fail 7",
        failure: "The fake agent exited with code 7: The prompt ordered a failure.",
        long: "fork; sleep 1000",
    };
    let fake = Fake::of(wardens(), env!("CARGO_BIN_EXE_discord-os"));
    assert_eq!((fake.label(), fake.basis()), (Some(LABEL), Basis::Free));
    contract(&fake, &prompts).await;
    // The program's own name for itself works too, from within the warden.
    contract(&Fake::new(wardens()), &prompts).await;
}

#[tokio::test]
async fn i_11_a_command_sees_the_contract_and_no_secret() {
    let backend = command(&["sh", "-c", SCRIPT]);
    assert_eq!(backend.basis(), Basis::Unknown);
    let desk = Desk::new("command-env");
    let request = desk.request("env", "env");
    let events = rest(&mut go(&backend, &request).await).await;
    let wanted = format!(
        "DISCORD_OS_ARTIFACTS={}\nDISCORD_OS_MODE=question\nDISCORD_OS_RUN={}\nDISCORD_OS_RUN_ID=run-env\nLC_ALL=C.UTF-8\nPATH={PATH}",
        request.artifacts.display(),
        request.mark,
    );
    assert_eq!(end(&events).summary, wanted);
}

#[tokio::test]
async fn a_command_that_is_not_there_is_refused_before_anything_starts() {
    let desk = Desk::new("command-missing");
    for words in [&["no-such-program-at-all"][..], &[]] {
        let error = command(words).prepare(desk.request("missing", "x")).await.err().expect("it is refused");
        assert!(error.0.contains("DISCORD_OS_COMMAND") && error.0.ends_with('.'), "{error}");
    }
}

#[tokio::test]
async fn the_demo_agent_works_through_the_command_backend() {
    let desk = Desk::new("demo");
    std::fs::write(desk.folder.path().join("cwd/a.txt"), "one\ntwo\n").unwrap();
    let backend = command(&[env!("CARGO_BIN_EXE_discord-os"), "demo-agent"]);
    let events = rest(&mut go(&backend, &desk.request("demo", "What is here?")).await).await;
    assert_eq!(end(&events).outcome, Outcome::Done);
    assert!(events.contains(&Event::Step("Drawing the chart".into())), "{events:?}");
    let mut found = files(&desk.artifacts());
    found.sort();
    assert_eq!(found, ["chart.svg", "report.md"]);
    let report = std::fs::read_to_string(desk.artifacts().join("report.md")).unwrap();
    assert!(report.contains("\nFiles: 1\nLines: 2\n"), "{report}");
}

#[tokio::test]
async fn many_lines_arrive_whole_and_in_order() {
    let desk = Desk::new("lines");
    let fake: Arc<dyn Backend> = Arc::new(Fake::new(wardens()));
    let events = rest(&mut go(&*fake, &desk.request("lines", "lines 5000")).await).await;
    let numbers: Vec<u32> =
        end(&events).summary.lines().filter_map(|line| line.strip_prefix("line ")?.parse().ok()).collect();
    assert_eq!(numbers, (1..=5000).collect::<Vec<_>>());
}
