use proptest::prelude::*;
use serde_json::json;

use super::*;

const TOKEN: &str = "a-bot-token";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A shard with a clock, and what it said.
struct Desk {
    shard: Shard,
    now: Duration,
}

impl Desk {
    fn with(saved: Option<Saved>) -> Self {
        let config = ShardConfig {
            token: Secret::new(TOKEN),
            intents: Intents::WITH_CONTENT,
            timing: Timing::default(),
            entropy: Arc::new(Entropy::seeded(7)),
        };
        Self { shard: Shard::new(config, saved), now: ms(1_000) }
    }

    fn fresh() -> Self {
        Self::with(None)
    }

    fn resuming() -> Self {
        let mut desk = Self::with(Some(Saved { session_id: "old".into(), resume_url: "wss://r".into(), seq: 41 }));
        assert_eq!(desk.wake(), [Out::Connecting(0), Out::Connect(Place::At("wss://r".into()))]);
        desk.put(In::Opened);
        assert_eq!(sent(&desk.hello()), [json!({"op": 6, "d": {"token": TOKEN, "session_id": "old", "seq": 41}})]);
        desk
    }

    /// Connected, identified and READY as session `s` with sequence number 1.
    fn live() -> Self {
        let mut desk = Self::fresh();
        desk.identify();
        desk.ready();
        desk
    }

    fn put(&mut self, input: In) -> Vec<Out> {
        self.shard.step(self.now, input)
    }

    fn frame(&mut self, frame: Value) -> Vec<Out> {
        self.put(In::Frame(frame.to_string()))
    }

    fn event(&mut self, seq: u64, name: &str) -> Vec<Out> {
        self.frame(json!({"op": 0, "s": seq, "t": name, "d": {}}))
    }

    /// Lets time pass until the shard wants to be woken.
    fn wake(&mut self) -> Vec<Out> {
        self.now = self.now.max(self.shard.due().expect("something is due"));
        self.put(In::Tick)
    }

    fn later(&mut self, by: Duration) -> Vec<Out> {
        self.now += by;
        self.put(In::Tick)
    }

    fn hello(&mut self) -> Vec<Out> {
        self.frame(json!({"op": 10, "d": {"heartbeat_interval": 41_250}}))
    }

    fn identify(&mut self) {
        assert!(self.wake().contains(&Out::Connect(Place::Main)));
        self.put(In::Opened);
        assert_eq!(self.hello(), [Out::AskIdentify]);
        let d = json!({"token": TOKEN, "intents": 46_593,
            "properties": {"os": "linux", "browser": "discord-os", "device": "discord-os"}});
        let outs = self.put(In::Budget(Budget::Go));
        if cfg!(target_os = "linux") {
            assert_eq!(sent(&outs), [json!({"op": 2, "d": d})]);
        }
    }

    fn ready(&mut self) -> Vec<Out> {
        let d = json!({"session_id": "s", "resume_gateway_url": "wss://resume", "user": {"id": "1"}});
        self.frame(json!({"op": 0, "s": 1, "t": "READY", "d": d}))
    }

    /// Where it connects next, after how long a rest.
    fn reconnects(&mut self) -> (Place, Duration) {
        let before = self.now;
        let outs = self.wake();
        let place = outs.into_iter().find_map(|out| match out {
            Out::Connect(place) => Some(place),
            _ => None,
        });
        (place.expect("connects again"), self.now - before)
    }

    /// Opens the next connection and says HELLO; gives what is sent then.
    fn next_hello(&mut self) -> Vec<Out> {
        self.reconnects();
        self.put(In::Opened);
        self.hello()
    }
}

fn sent(outs: &[Out]) -> Vec<Value> {
    let frames = outs.iter().filter_map(|out| match out {
        Out::Send(text) => Some(serde_json::from_str(text.expose()).expect("a frame is JSON")),
        _ => None,
    });
    frames.collect()
}

fn resume_url() -> Place {
    Place::At("wss://resume#intents=46593".into())
}

fn closes(outs: &[Out]) -> bool {
    outs.contains(&Out::Close(4000))
}

fn forgets(outs: &[Out]) -> bool {
    outs.contains(&Out::Keep(None))
}

#[test]
fn a_new_session_is_kept_before_anything_of_it_is_delivered() {
    let mut desk = Desk::fresh();
    desk.identify();
    let outs = desk.ready();
    let saved = Saved { session_id: "s".into(), resume_url: "wss://resume#intents=46593".into(), seq: 1 };
    assert_eq!(outs[..2], [Out::Keep(Some(saved)), Out::Up]);
    assert!(
        matches!(&outs[2..], [Out::Deliver { session_id, seq: 1, name, .. }] if session_id == "s" && name == "READY")
    );
}

/// Every opcode of discord/facts.md section 2, put to a live shard.
#[test]
fn every_opcode_has_its_answer() {
    for op in [2, 3, 4, 6, 8, 12, 31, 43, 99, 1_000_000] {
        assert_eq!(Desk::live().frame(json!({"op": op, "d": {"x": 1}, "new_key": 1})), [], "op {op}");
    }
    let mut desk = Desk::live();
    desk.event(5, "MESSAGE_CREATE");
    assert_eq!(sent(&desk.frame(json!({"op": 1, "d": null}))), [json!({"op": 1, "d": 5})], "asked for, given at once");
    assert_eq!(desk.frame(json!({"op": 11})), [Out::Up], "an ACK without other keys");

    let outs = desk.frame(json!({"op": 7, "d": null}));
    assert!(closes(&outs) && !forgets(&outs));
    assert_eq!(desk.reconnects().0, resume_url());

    for (data, resumes) in [(json!(true), true), (json!(false), false), (Value::Null, false)] {
        let mut desk = Desk::live();
        let outs = desk.frame(json!({"op": 9, "d": data}));
        assert!(closes(&outs));
        assert_eq!(forgets(&outs), !resumes, "{data}");
        let (place, rest) = desk.reconnects();
        assert_eq!(place, if resumes { resume_url() } else { Place::Main });
        assert!((1_000..=5_000).contains(&rest.as_millis()), "{rest:?}");
    }
}

/// Every close code of discord/facts.md section 2, put to a live shard.
#[test]
fn every_close_code_has_its_answer() {
    let resume = [None, Some(1000), Some(1001), Some(1006), Some(4000), Some(4001), Some(4002), Some(4008), Some(4999)];
    for code in resume {
        let mut desk = Desk::live();
        let outs = desk.put(In::Closed(code));
        assert!(!closes(&outs) && !forgets(&outs), "{code:?}");
        let (place, rest) = desk.reconnects();
        assert_eq!(place, resume_url(), "{code:?}");
        assert!(rest <= ms(1_000), "{code:?}");
    }
    for code in [4003, 4005, 4007, 4009] {
        let mut desk = Desk::live();
        assert!(forgets(&desk.put(In::Closed(Some(code)))), "{code}");
        assert_eq!(desk.next_hello(), [Out::AskIdentify], "{code}");
    }
    for code in [4004, 4010, 4011, 4012, 4013, 4014] {
        let mut desk = Desk::live();
        let outs = desk.put(In::Closed(Some(code)));
        assert!(forgets(&outs) && matches!(outs.last(), Some(Out::Fatal(_))), "{code}");
        assert_eq!(desk.shard.due(), None);
        assert_eq!(desk.put(In::Opened), [], "nothing more is done");
    }
}

#[test]
fn a_resume_goes_on_where_the_session_was_left() {
    let mut desk = Desk::resuming();
    assert!(matches!(&desk.event(42, "MESSAGE_CREATE")[..], [Out::Deliver { seq: 42, .. }]));
    let outs = desk.event(43, "RESUMED");
    assert!(matches!(&outs[..], [Out::Up, Out::Deliver { seq: 43, name, .. }] if name == "RESUMED"));
    desk.event(7, "MESSAGE_UPDATE");
    desk.put(In::Closed(None));
    let frames = sent(&desk.next_hello());
    assert_eq!(frames[0]["d"]["seq"], 43, "a number never goes back");
}

#[test]
fn a_session_with_other_intents_is_not_resumed() {
    let mut desk =
        Desk::with(Some(Saved { session_id: "old".into(), resume_url: "wss://r#intents=13825".into(), seq: 41 }));
    assert_eq!(desk.wake(), [Out::Connecting(0), Out::Connect(Place::Main)]);
}

#[test]
fn hello_ready_and_resumed_are_not_waited_for_for_ever() {
    let mut desk = Desk::fresh();
    desk.wake();
    desk.put(In::Opened);
    assert!(closes(&desk.later(ms(20_000))), "HELLO");

    let mut desk = Desk::fresh();
    desk.identify();
    let mut beats = 0;
    while !closes(&desk.wake()) {
        desk.frame(json!({"op": 11}));
        beats += 1;
        assert!(beats < 9, "READY");
    }
    assert_eq!(desk.next_hello(), [Out::AskIdentify]);

    let mut desk = Desk::resuming();
    desk.later(ms(29_000));
    desk.event(42, "MESSAGE_CREATE");
    assert!(!closes(&desk.later(ms(2_000))), "a replay that goes on is waited for");
    desk.frame(json!({"op": 11}));
    assert!(closes(&desk.later(ms(30_000))), "RESUMED");
    assert_eq!(desk.reconnects().0, Place::At("wss://r".into()));
}

#[test]
fn after_three_resumes_that_failed_a_new_session_begins() {
    let mut desk = Desk::resuming();
    for _ in 0..2 {
        assert!(!forgets(&desk.put(In::Closed(Some(4000)))));
        assert_eq!(sent(&desk.next_hello())[0]["op"], 6);
    }
    assert!(forgets(&desk.put(In::Closed(Some(4000)))));
    assert_eq!(desk.next_hello(), [Out::AskIdentify]);
}

#[test]
fn refused_connects_do_not_count_as_failed_resumes_but_lead_back_to_the_main_address() {
    let mut desk = Desk::resuming();
    for _ in 0..3 {
        desk.put(In::Closed(None));
        for _ in 0..3 {
            assert_eq!(desk.reconnects().0, Place::At("wss://r".into()));
            desk.put(In::Unreached { why: "No route.".into(), after: None });
        }
        assert_eq!(desk.reconnects().0, Place::Main);
        desk.put(In::Opened);
        assert_eq!(sent(&desk.hello())[0]["op"], 6, "still a resume");
        desk.event(43, "RESUMED");
    }
}

#[test]
fn a_connection_without_an_answer_to_its_heartbeat_is_closed_and_resumed() {
    let mut desk = Desk::live();
    let first = desk.now;
    assert_eq!(sent(&desk.wake()), [json!({"op": 1, "d": 1})]);
    assert!(desk.now - first <= ms(41_250), "the first comes after a random part of the interval");
    let second = desk.now;
    desk.frame(json!({"op": 11}));
    assert_eq!(sent(&desk.wake()).len(), 1);
    assert_eq!(desk.now - second, ms(41_250));
    let outs = desk.wake();
    assert!(closes(&outs) && sent(&outs).is_empty() && !forgets(&outs));
    assert_eq!(desk.reconnects().0, resume_url());
}

#[test]
fn unread_frames_are_not_taken_for_silence() {
    let mut desk = Desk::live();
    desk.put(In::Full(true));
    for _ in 0..5 {
        assert_eq!(sent(&desk.wake()).len(), 1, "heartbeats go on");
    }
    desk.put(In::Full(false));
    assert_eq!(sent(&desk.wake()).len(), 1);
    assert!(closes(&desk.wake()));
}

#[test]
fn what_cannot_be_understood_ends_the_connection_and_not_the_session() {
    let texts =
        ["", "hello", "[]", "{}", "{\"op\":\"0\"}", "{\"op\":0,\"s\":2,\"t\":null,\"d\":{}}", "{\"op\":10,\"d\":{}}"];
    for text in texts {
        let mut desk = Desk::live();
        let outs = desk.put(In::Frame(text.into()));
        assert!(closes(&outs) && !forgets(&outs), "{text}");
    }
    let mut desk = Desk::live();
    assert!(closes(&desk.put(In::Garbled)));
    let mut desk = Desk::fresh();
    desk.identify();
    assert!(closes(&desk.event(1, "READY")), "a READY without a session");
}

#[test]
fn op_7_may_come_instead_of_hello() {
    let mut desk = Desk::fresh();
    desk.wake();
    desk.put(In::Opened);
    assert!(closes(&desk.frame(json!({"op": 7, "d": null}))));
}

#[test]
fn the_waits_grow_until_a_session_has_lasted() {
    let mut desk = Desk::live();
    let mut longest = Duration::ZERO;
    for _ in 0..40 {
        desk.put(In::Closed(Some(4000)));
        let (_, rest) = desk.reconnects();
        longest = longest.max(rest);
        assert!(rest <= ms(60_000));
        desk.put(In::Opened);
        desk.hello();
        desk.event(2, "RESUMED");
    }
    assert!(longest > ms(20_000), "{longest:?}");
    desk.now += ms(60_000);
    desk.frame(json!({"op": 7, "d": null}));
    assert!(desk.reconnects().1 <= ms(1_000));
}

#[test]
fn discords_own_wait_is_kept() {
    let mut desk = Desk::fresh();
    desk.wake();
    desk.put(In::Unreached { why: "Blocked.".into(), after: Some(ms(600_000)) });
    assert!(desk.reconnects().1 >= ms(600_000));
}

#[test]
fn an_identify_waits_for_its_budget() {
    let mut desk = Desk::fresh();
    desk.wake();
    desk.put(In::Opened);
    desk.hello();
    assert_eq!(desk.put(In::Budget(Budget::Wait(ms(4_000)))), []);
    let start = desk.now;
    loop {
        let outs = desk.wake();
        assert!(outs.iter().all(|out| matches!(out, Out::Send(_) | Out::AskIdentify)), "{outs:?}");
        desk.frame(json!({"op": 11}));
        if outs.contains(&Out::AskIdentify) {
            break;
        }
    }
    assert_eq!(desk.now - start, ms(4_000), "the spacing is waited for on the open connection");

    let outs = desk.put(In::Budget(Budget::Wait(ms(3_600_000))));
    assert!(closes(&outs), "an hour is not");
    assert!(desk.reconnects().1 >= ms(3_600_000));

    desk.put(In::Opened);
    desk.hello();
    assert!(closes(&desk.put(In::NotCounted("The disk is full.".into()))));
    assert_eq!(desk.put(In::Budget(Budget::Go)), [], "an answer that comes too late sends nothing");
}

#[test]
fn what_was_not_taken_is_replayed() {
    let mut desk = Desk::live();
    for seq in 2..10 {
        desk.event(seq, "MESSAGE_CREATE");
    }
    let not_taken = |taken: Option<(&str, u64)>| In::NotTaken {
        taken: taken.map(|(id, seq)| (id.to_owned(), seq)),
        why: "The disk is full.".into(),
    };
    let outs = desk.put(not_taken(Some(("s", 4))));
    assert!(closes(&outs) && !forgets(&outs));
    assert_eq!(sent(&desk.next_hello())[0]["d"]["seq"], 4);
    for _ in 0..5 {
        desk.event(5, "MESSAGE_CREATE");
        assert!(!forgets(&desk.put(not_taken(Some(("s", 4))))), "our own failure does not cost the session");
        assert_eq!(sent(&desk.next_hello())[0]["d"]["seq"], 4);
    }
    desk.put(In::Closed(None));
    desk.put(not_taken(Some(("s", 3))));
    assert_eq!(sent(&desk.next_hello())[0]["d"]["seq"], 3, "also while no connection is open");
}

#[test]
fn a_session_whose_ready_was_not_taken_is_given_up() {
    let mut desk = Desk::live();
    let outs = desk.put(In::NotTaken { taken: Some(("old".into(), 9)), why: "The disk is full.".into() });
    assert!(closes(&outs) && forgets(&outs));
    assert_eq!(desk.next_hello(), [Out::AskIdentify]);
}

#[test]
fn a_stop_leaves_the_session_resumable() {
    assert_eq!(Desk::live().put(In::Stop), [Out::Close(4000), Out::Stopped]);
    assert_eq!(Desk::fresh().put(In::Stop), [Out::Stopped]);
    let mut desk = Desk::fresh();
    desk.wake();
    assert_eq!(desk.put(In::Stop), [Out::Stopped]);
    assert_eq!(desk.shard.due(), None);
}

#[test]
fn a_flood_of_heartbeat_requests_does_not_cross_the_send_limit() {
    let mut desk = Desk::live();
    let mut count = 0;
    for _ in 0..1_000 {
        desk.now += ms(1);
        count += sent(&desk.frame(json!({"op": 1, "d": null}))).len();
    }
    assert_eq!(count, 109, "IDENTIFY was the first of 110");
    assert!(!sent(&desk.wake()).is_empty(), "a due heartbeat finds room");
}

fn any_input() -> impl Strategy<Value = u8> {
    0u8..22
}

fn input(kind: u8, seq: u64) -> In {
    let frame = |value: Value| In::Frame(value.to_string());
    match kind {
        0 => In::Opened,
        1 => In::Unreached { why: "No route.".into(), after: None },
        2 => frame(json!({"op": 10, "d": {"heartbeat_interval": 0}})),
        3 => frame(json!({"op": 10, "d": {"heartbeat_interval": 41_250}})),
        4 => frame(json!({"op": 0, "s": seq, "t": "READY", "d": {"session_id": "s", "resume_gateway_url": "wss://r"}})),
        5 => frame(json!({"op": 0, "s": seq, "t": "RESUMED", "d": null})),
        6 => frame(json!({"op": 0, "s": seq, "t": "MESSAGE_CREATE", "d": {}})),
        7 => frame(json!({"op": 9, "d": seq.is_multiple_of(2)})),
        8 => frame(json!({"op": 7})),
        9 => frame(json!({"op": 1})),
        10 => frame(json!({"op": 11})),
        11 => In::Garbled,
        12 => In::Closed(None),
        13 => In::Closed(Some(4009)),
        14 => In::Budget(Budget::Go),
        15 => In::Budget(Budget::Wait(ms(seq * 1_000))),
        16 => In::NotCounted("No.".into()),
        17 => In::NotTaken { taken: Some(("s".into(), seq / 2)), why: "No.".into() },
        18 => In::NotTaken { taken: None, why: "No.".into() },
        19 => In::Full(seq.is_multiple_of(2)),
        _ => In::Tick,
    }
}

proptest! {
    /// Whatever Discord does: no hot loop, nothing sent without a connection, no IDENTIFY that was not counted, and
    /// never more frames than Discord takes.
    #[test]
    fn i_17_no_sequence_of_events_breaks_the_bounds(inputs in proptest::collection::vec((any_input(), 0u64..40), 1..300)) {
        let mut desk = Desk::fresh();
        let (mut open, mut asked, mut go) = (false, false, false);
        let mut frames: Vec<Duration> = Vec::new();
        for (kind, seq) in inputs {
            // The pump reports an opened socket only after it was asked to connect, and answers only what was asked.
            let given = input(kind, seq);
            if matches!(given, In::Budget(_) | In::NotCounted(_)) && !std::mem::take(&mut asked) {
                continue;
            }
            go |= matches!(given, In::Budget(Budget::Go));
            let opens = matches!(given, In::Opened) && matches!(desk.shard.phase, Phase::Opening);
            if opens {
                (open, frames) = (true, Vec::new());
            }
            let ticks = matches!(given, In::Tick);
            let outs = if ticks && desk.shard.due().is_some() { desk.wake() } else { desk.put(given) };
            for out in outs {
                match out {
                    Out::Connect(_) => (open, asked, go) = (false, false, false),
                    Out::Close(_) => (open, asked, go) = (false, false, false),
                    Out::AskIdentify => { prop_assert!(open); asked = true; }
                    Out::Send(text) => {
                        let frame: Value = serde_json::from_str(text.expose()).expect("a frame is JSON");
                        prop_assert!(open, "{frame}");
                        if frame["op"] == 2 {
                            prop_assert!(std::mem::take(&mut go));
                        }
                        frames.push(desk.now);
                    }
                    _ => {}
                }
            }
            if ticks {
                prop_assert!(desk.shard.due().is_none_or(|due| due > desk.now), "{:?}", desk.shard.phase);
            }
            let lately = frames.iter().filter(|at| **at + ms(60_000) > desk.now).count();
            prop_assert!(lately <= 118);
        }
    }
}
