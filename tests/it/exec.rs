//! Children under a warden: what they say, how they end, and that nothing of them is left.

use std::ffi::OsString;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use discord_os::exec::sweep::sweep;
use discord_os::exec::wardens::Wardens;
use discord_os::exec::{Child, Exec, Exit, Output, ProcessId, Spec, tree};
use tokio::time::timeout;

/// Longest wait for anything here; a machine under load needs some of it.
const LONG: Duration = Duration::from_secs(60);

pub fn wardens() -> Arc<Wardens> {
    Arc::new(Wardens::of(env!("CARGO_BIN_EXE_discord-os")))
}

/// A mark that no other test has.
pub fn mark(name: &str) -> String {
    format!("test-{name}-{}", std::process::id())
}

fn sh(name: &str, script: &str) -> Spec {
    Spec {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: Vec::new(),
        mark: mark(name),
        deadline: LONG,
    }
}

/// The wardens go with the child: dropped, they would end it.
async fn wardens_keep(spec: &Spec) -> (Arc<Wardens>, Child, ProcessId) {
    let wardens = wardens();
    let prepared = wardens.prepare(spec.clone()).await.unwrap();
    let warden = prepared.warden();
    (wardens.clone(), prepared.go().await.unwrap(), warden)
}

#[derive(Debug, Default)]
struct Heard {
    out: Vec<u8>,
    err: Vec<u8>,
    exits: Vec<Exit>,
    last_is_exit: bool,
}

async fn rest(child: &mut Child) -> Heard {
    let mut heard = Heard::default();
    while let Some(output) = timeout(LONG, child.output.recv()).await.expect("it ends in time") {
        heard.last_is_exit = matches!(output, Output::Exited(_));
        match output {
            Output::Out(bytes) => heard.out.extend(bytes),
            Output::Err(bytes) => heard.err.extend(bytes),
            Output::Exited(exit) => heard.exits.push(exit),
        }
    }
    heard
}

async fn run(spec: &Spec) -> (Heard, Exit) {
    let (_wardens, mut child, _) = wardens_keep(spec).await;
    let heard = rest(&mut child).await;
    assert_eq!(heard.exits.len(), 1, "{heard:?}");
    assert!(heard.last_is_exit);
    assert!(tree::marked(&spec.mark).is_empty(), "something carries the mark of {}", spec.mark);
    let exit = heard.exits[0];
    (heard, exit)
}

/// Reads until the program has said `wanted`.
async fn until(child: &mut Child, wanted: &str) {
    let mut said = String::new();
    while !said.contains(wanted) {
        match timeout(LONG, child.output.recv()).await.expect("it speaks in time") {
            Some(Output::Out(bytes)) => said.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("it said {said:?}, then {other:?}"),
        }
    }
}

async fn until_true(what: &str, condition: impl Fn() -> bool) {
    timeout(LONG, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{what} did not come true"));
}

const CLEAN: Exit = Exit { code: Some(0), signal: None, late: false, ended: 0, gone: true };

#[tokio::test]
async fn a_program_gets_its_stdin_and_says_its_piece() {
    let mut spec = sh("piece", "cat; echo two >&2; exit 3");
    spec.stdin = b"one\n\xff".to_vec();
    let (heard, exit) = run(&spec).await;
    assert_eq!((heard.out.as_slice(), heard.err.as_slice()), (b"one\n\xff".as_slice(), b"two\n".as_slice()));
    assert_eq!(exit, Exit { code: Some(3), ..CLEAN });
}

#[tokio::test]
async fn stdin_that_is_not_read_harms_nobody() {
    let mut spec = sh("unread", "exec 0<&-; echo done");
    spec.stdin = vec![b'x'; 3 << 20];
    let (heard, exit) = run(&spec).await;
    assert_eq!((heard.out.as_slice(), exit), (b"done\n".as_slice(), CLEAN));
}

#[tokio::test]
async fn a_signal_is_told_as_one() {
    let (_, exit) = run(&sh("signal", "kill -SEGV $$")).await;
    assert_eq!(exit, Exit { code: None, signal: Some(11), ..CLEAN });
    // Real-time signals have no name in nix.
    let (_, exit) = run(&sh("realtime", "kill -40 $$")).await;
    assert_eq!((exit.code, exit.gone), (None, true));
}

#[tokio::test]
async fn i_11_the_environment_is_what_was_given_and_the_mark() {
    let mut spec = sh("env", "exec env");
    spec.env.push(("GIVEN".into(), "a b\tc".into()));
    let (heard, _) = run(&spec).await;
    let mut lines: Vec<String> = String::from_utf8(heard.out).unwrap().lines().map(str::to_owned).collect();
    lines.retain(|line| !line.starts_with("PWD=") && !line.starts_with("_=") && !line.starts_with("SHLVL="));
    lines.sort();
    let marked = format!("DISCORD_OS_RUN={}", spec.mark);
    assert_eq!(lines, [marked.as_str(), "GIVEN=a b\tc", "PATH=/usr/local/bin:/usr/bin:/bin"]);
}

#[tokio::test]
async fn it_runs_where_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let mut spec = sh("place", "pwd");
    spec.cwd = place.clone();
    let (heard, _) = run(&spec).await;
    assert_eq!(String::from_utf8(heard.out).unwrap(), format!("{}\n", place.display()));
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "a plain child to compare with")]
async fn it_holds_no_descriptor_of_warden_or_host() {
    const LIST: [&str; 2] = ["ls", "/proc/self/fd"];
    let mut spec = sh("descriptors", "");
    spec.argv = LIST.map(OsString::from).to_vec();
    let (heard, _) = run(&spec).await;
    // A child of this very process has what the test's own parent passed on, and nothing else.
    let plain = std::process::Command::new(LIST[0]).arg(LIST[1]).output().unwrap();
    assert_eq!(String::from_utf8(heard.out).unwrap(), String::from_utf8(plain.stdout).unwrap());
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_error_at_the_go() {
    let mut spec = sh("none", "");
    spec.argv = vec!["/no/such/program".into()];
    let wardens = wardens();
    let prepared = wardens.prepare(spec.clone()).await.unwrap();
    let error = prepared.go().await.err().expect("it does not start");
    assert!(error.0.starts_with("The program could not be started: ") && error.0.ends_with('.'), "{error}");
    let warden = Wardens::of("/no/such/warden").prepare(spec).await.err().expect("it does not start");
    assert!(warden.0.starts_with("The run's warden could not be started: "), "{warden}");
}

#[tokio::test]
async fn a_slow_reader_holds_the_program_back_and_loses_nothing() {
    let spec = sh("slow", "i=0; while [ $i -lt 300 ]; do head -c 20000 /dev/zero; i=$((i+1)); done; echo end >&2");
    let (_wardens, mut child, _) = wardens_keep(&spec).await;
    // Six megabytes do not fit in between, so the program cannot have ended while nobody read.
    until_true("a full channel", || child.output.len() == child.output.max_capacity()).await;
    assert!(!tree::marked(&spec.mark).is_empty());
    let heard = rest(&mut child).await;
    assert_eq!((heard.out.len(), heard.err.as_slice()), (6_000_000, b"end\n".as_slice()));
    assert_eq!(heard.exits, [CLEAN]);
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_and_counted() {
    let (_, exit) = run(&sh("left", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & sleep 1001 & exit 4")).await;
    assert_eq!((exit.code, exit.gone), (Some(4), true));
    assert!(exit.ended >= 1, "{exit:?}");
}

#[tokio::test]
async fn the_deadline_ends_it() {
    let mut spec = sh("late", "echo up; sleep 1000");
    spec.deadline = Duration::from_millis(300);
    let (heard, exit) = run(&spec).await;
    assert_eq!(heard.out, b"up\n");
    assert_eq!((exit.code, exit.late, exit.gone), (None, true, true));
}

#[tokio::test]
async fn i_6_a_kill_does_not_wait_for_the_reader() {
    let spec = sh("unread-kill", "cat /dev/zero");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until_true("a full channel", || child.output.len() == child.output.max_capacity()).await;
    child.kill.now();
    until_true("the end of the tree", || !tree::alive(warden) && tree::marked(&spec.mark).is_empty()).await;
    let heard = rest(&mut child).await;
    assert!(heard.last_is_exit && heard.exits[0].gone && heard.exits[0].code.is_none(), "{:?}", heard.exits);
}

#[tokio::test]
async fn a_program_cannot_signal_its_warden_away() {
    // A moment first: the warden holds signals back from just after the start (its known limits).
    let (_, exit) =
        run(&sh("mutiny", "sleep 0.5; for s in TERM HUP INT QUIT USR1 ALRM; do kill -$s $PPID; done; exit 5")).await;
    assert_eq!(exit, Exit { code: Some(5), ..CLEAN });
}

/// A tree of every kind that is hard to end: deaf to TERM, orphaned, in sessions of its own,
/// stopped, without the mark, and many.
const HARD: &str = "trap '' TERM
sh -c \"trap '' TERM; setsid sh -c 'trap : TERM; sleep 1000; sleep 1000; sleep 1000' >/dev/null 2>&1 &\"
env -i /bin/sh -c '(/usr/bin/setsid /bin/sleep 1000 >/dev/null 2>&1 &)'
sleep 1000 & kill -STOP $!
i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done
echo up; wait";

#[tokio::test]
async fn i_6_a_kill_ends_a_tree_that_resists_and_counts_it() {
    let spec = sh("hard", HARD);
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    let before = tree::descendants(warden.pid);
    assert!(before.len() >= 203, "{}", before.len());
    child.kill.now();
    child.kill.now();
    let heard = rest(&mut child).await;
    let exit = heard.exits[0];
    assert_eq!((exit.code, exit.late, exit.gone), (None, false, true));
    assert!(exit.ended as usize >= before.len() - 1, "{exit:?} of {}", before.len());
    assert!(before.iter().all(|id| !tree::alive(*id)));
    assert!(!tree::alive(warden));
    assert!(tree::marked(&spec.mark).is_empty());
}

#[tokio::test]
async fn i_6_a_fork_storm_is_ended() {
    let spec = sh("storm", "f() { while :; do sleep 1000 & sleep 0.01; done; }; f & f & f & echo up; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    until_true("a storm", || tree::descendants(warden.pid).len() > 20).await;
    child.kill.now();
    let exit = rest(&mut child).await.exits[0];
    assert!(exit.gone && exit.ended > 20, "{exit:?}");
    assert!(tree::marked(&spec.mark).is_empty());
}

#[tokio::test]
async fn a_program_may_end_in_order_when_told() {
    let spec = sh("order", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    let (_wardens, mut child, _) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    child.kill.now();
    let heard = rest(&mut child).await;
    assert_eq!(heard.out, b"bye\n");
    // It did not end by itself, so it has no code.
    assert_eq!((heard.exits[0].code, heard.exits[0].signal, heard.exits[0].gone), (None, Some(15), true));
}

#[tokio::test]
async fn dropping_a_prepared_one_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("ran");
    let spec = sh("dropped", &format!("touch '{}'", trace.display()));
    let wardens = wardens();
    let prepared = wardens.prepare(spec.clone()).await.unwrap();
    let warden = prepared.warden();
    assert!(tree::alive(warden));
    assert_eq!(tree::marked(&spec.mark), [warden]);
    assert!(!trace.exists());
    drop(prepared);
    until_true("the end of the warden", || !tree::alive(warden)).await;
    assert!(!Path::new(&trace).exists());
}

#[tokio::test]
async fn a_tree_ends_with_its_host() {
    let spec = sh("host", HARD);
    let (wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    // Dropping the owner closes the socket, as the kernel does for a host that was killed.
    drop(wardens);
    until_true("the end of the tree", || !tree::alive(warden) && tree::marked(&spec.mark).is_empty()).await;
}

/// Tells the host below that it is one.
const BE_A_HOST: &str = "DISCORD_OS_TEST_BE_A_HOST";

/// Not a test of its own: the process that the next test kills.
#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "a message from the test that started it")]
async fn host_to_be_killed() {
    if std::env::var_os(BE_A_HOST).is_none() {
        return;
    }
    let (_wardens, mut child, warden) = wardens_keep(&sh("killed-host", HARD)).await;
    until(&mut child, "up\n").await;
    println!("\nwarden {} {}", warden.pid, warden.start);
    rest(&mut child).await;
}

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "the host that is killed is a child of the test")]
async fn a_host_that_is_killed_leaves_nothing_to_the_sweep() {
    let mut host = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "exec::host_to_be_killed", "--nocapture"])
        .env(BE_A_HOST, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = std::io::BufReader::new(host.stdout.take().unwrap());
    let words = said.lines().map(Result::unwrap).find_map(|line| Some(line.strip_prefix("warden ")?.to_owned()));
    let words = words.expect("it tells its warden");
    let (pid, start) = words.split_once(' ').unwrap();
    let warden = ProcessId { pid: pid.parse().unwrap(), start: start.parse().unwrap() };
    let mark = format!("test-killed-host-{}", host.id());
    let before = tree::of_run(warden.pid, &mark);
    assert!(before.len() >= 203, "{}", before.len());
    host.kill().unwrap();
    host.wait().unwrap();
    let records = vec![(warden, mark.clone())];
    let swept = tokio::task::spawn_blocking(move || sweep(&records)).await.unwrap();
    assert_eq!(swept[0].mark, mark);
    assert!(swept[0].gone);
    assert!(before.iter().all(|id| !tree::alive(*id)) && !tree::alive(warden));
}

#[tokio::test]
async fn a_tree_ends_when_nobody_listens_any_more() {
    let spec = sh("deaf", "setsid sleep 1000 & echo up; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    drop(child);
    until_true("the end of the tree", || !tree::alive(warden) && tree::marked(&spec.mark).is_empty()).await;
}

#[tokio::test]
async fn i_6_without_its_warden_a_run_is_ended_by_its_mark_and_never_called_gone() {
    let spec = sh("murder", "setsid sleep 1000 & sleep 1001 & sleep 0.5; kill -9 $PPID; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    let exit = rest(&mut child).await.exits[0];
    assert!(!tree::alive(warden));
    assert!(tree::marked(&spec.mark).is_empty());
    assert_eq!((exit.code, exit.gone), (None, false));
}

#[tokio::test]
async fn the_sweep_ends_what_a_killed_host_left() {
    // The host's end is held open by this process, so the warden has no reason to end by itself:
    // the sweep's patience passes, then it acts.
    let spec = sh("sweep", "env -i /usr/bin/setsid /bin/sleep 1000 & setsid sleep 1000 & echo up; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    until_true("both sleeps", || tree::descendants(warden.pid).len() >= 3).await;
    let before = tree::descendants(warden.pid);
    // A record of a process with the same number but another start is nobody's.
    let me = std::process::id() as i32;
    let stranger = ProcessId { pid: me, start: 1 };
    let records = vec![(warden, spec.mark.clone()), (stranger, mark("nobody"))];
    let swept = tokio::task::spawn_blocking(move || sweep(&records)).await.unwrap();
    assert_eq!((swept[0].mark.as_str(), swept[0].gone), (spec.mark.as_str(), true));
    assert!(swept[0].ended >= 4, "{swept:?}");
    assert_eq!((swept[1].ended, swept[1].gone), (0, true));
    assert!(before.iter().all(|id| !tree::alive(*id)) && !tree::alive(warden));
    drop(rest(&mut child).await);
}

#[tokio::test]
async fn i_18_a_descendant_is_known_even_without_its_mark() {
    let spec = sh("kin", "env -i /usr/bin/setsid /bin/sleep 1000 & echo up; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    until_true("the sleep", || tree::descendants(warden.pid).iter().any(|id| !tree::carries(id.pid, &spec.mark))).await;
    assert!(tree::descendants(warden.pid).iter().all(|id| tree::in_a_run(id.pid)));
    assert!(!tree::in_a_run(std::process::id() as i32));
    child.kill.now();
    assert!(rest(&mut child).await.exits[0].gone);
}

#[tokio::test]
async fn i_6_a_warden_that_was_stopped_is_woken_to_do_its_work() {
    let spec = sh("stopped", "env -i /usr/bin/setsid /bin/sleep 1000 & kill -STOP $PPID; echo up; wait");
    let (_wardens, mut child, warden) = wardens_keep(&spec).await;
    until(&mut child, "up\n").await;
    child.kill.now();
    let exit = rest(&mut child).await.exits[0];
    assert!(exit.gone && exit.ended >= 1, "{exit:?}");
    assert!(tree::marked(&spec.mark).is_empty() && !tree::alive(warden));
}
