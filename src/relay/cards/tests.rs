//! Every state of every card, as people would read it.

use proptest::prelude::*;

use super::*;
use crate::base::clock::Millis;
use crate::base::ids::*;
use crate::ledger::people::Subject;
use crate::ledger::runs::Run;
use crate::ledger::spend::Meter;
use crate::ledger::tasks::Task;
use crate::ledger::views::*;
use crate::model::actor::Role;
use crate::model::card::Body;
use crate::model::object::ObjectKind;
use crate::model::power::Power;
use crate::model::receipt::Usage;
use crate::model::tap::Signed;
use crate::model::task::Mode;

const THREAD: ChannelId = ChannelId(77);

fn signer() -> Signer {
    Signer::new(KeyId("k1".into()), [7; 32])
}

fn stamped<T>(draw: impl FnOnce(&Stamp<'_>) -> T) -> T {
    draw(&Stamp { signer: &signer(), channel: THREAD, mirror: MirrorId(12) })
}

/// A card as text: buttons and menus in brackets, what cannot be pressed struck out.
fn show(card: &Card) -> String {
    let verb =
        |id: &str| id.parse::<Signed>().map_or("?".to_owned(), |s| format!("{}:{}", s.tap.verb.as_str(), s.tap.arg));
    let button = |b: &Button| match b {
        Button::Press { label, custom_id, disabled, .. } if *disabled => format!("~[{label} {}]~", verb(custom_id)),
        Button::Press { label, custom_id, .. } => format!("[{label} {}]", verb(custom_id)),
        Button::Link { label, url } => format!("[{label} -> {url}]"),
    };
    let mut out = format!("edge {:06x}\n", card.accent.unwrap_or(0));
    for block in &card.blocks {
        out += &match block {
            Block::Text(text) => format!("{text}\n"),
            Block::Divider => "----\n".to_owned(),
            Block::Buttons(buttons) => format!("{}\n", buttons.iter().map(button).collect::<Vec<_>>().join(" ")),
            Block::Menu(menu) => {
                let choice =
                    |c: &crate::model::card::Choice| format!("  {} = {} ({:?})\n", c.label, c.value, c.description);
                format!(
                    "menu {} {}\n{}",
                    verb(&menu.custom_id),
                    menu.placeholder,
                    menu.choices.iter().map(choice).collect::<String>()
                )
            }
        };
    }
    out
}

fn face() -> host::Face {
    host::Face { backend: "fake (deterministic, for tests: no agent works here)".into(), folder: "workshop".into() }
}

fn host_view() -> HostView {
    HostView {
        host: HostId("h1".into()),
        power: Power::Off,
        power_by: "host".into(),
        power_why: Some("The machine was started anew".into()),
        power_at: Millis(1_800_000_000_000),
        halt: None,
        link: LinkView {
            state: LinkState::Up,
            why: None,
            heartbeat: Some(Millis(1_800_000_000_000)),
            last_message: None,
        },
        counts: Counts::default(),
        missed: 0,
        held: 0,
        failed: 0,
        meter: None,
        people: Vec::new(),
        jobs: Vec::new(),
    }
}

fn busy() -> HostView {
    let olive = Person { subject: Subject::User(UserId(5)), role: Role::Owner, name: Some("Olive_*".into()) };
    HostView {
        power: Power::On,
        power_by: "user:5".into(),
        power_why: None,
        counts: Counts { live: 1, queued: 2, waiting: 1 },
        missed: 3,
        held: 1,
        failed: 2,
        meter: Some(Meter {
            id: MeterId("m".into()),
            cap: MicroUsd::dollars(10),
            spent: MicroUsd(1_250_000),
            reserved: MicroUsd(500_000),
            estimated: true,
        }),
        people: vec![olive, Person { subject: Subject::User(UserId(6)), role: Role::Operator, name: None }],
        jobs: vec![JobLine {
            run: RunId("r1".into()),
            code: TaskCode(12),
            text: "count the lines\nof every file".into(),
            state: RunState::Started,
        }],
        ..host_view()
    }
}

fn job(state: RunState) -> JobView {
    let started = !matches!(state, RunState::Waiting | RunState::Queued | RunState::Claimed | RunState::Denied);
    JobView {
        task: Task {
            id: TaskId("t1".into()),
            code: TaskCode(12),
            bot: BotKey("b".into()),
            channel: ChannelId(9),
            guild: Some(GuildId(3)),
            ask_message: Some(MessageId(70)),
            thread: Some(THREAD),
            asker: "user:5".into(),
            asker_name: "Olive".into(),
            text: "fix the *tests* @everyone\nplease".into(),
            mode: Mode::Work,
            at: Millis(1_800_000_000_000),
        },
        run: Run {
            id: RunId("r1".into()),
            task: TaskId("t1".into()),
            turn: 1,
            prompt: "fix the tests".into(),
            backend: "fake".into(),
            state,
            host: HostId("h1".into()),
            mark: "mark".into(),
            warden: None,
            confinement: None,
            answer: String::new(),
            summary: None,
            error: None,
            usage: Usage::default(),
            ended_processes: None,
            cancel_by: None,
            created: Millis(1_800_000_000_000),
            started: started.then_some(Millis(1_800_000_001_000)),
            ended: state.ended().then_some(Millis(1_800_000_084_000)),
        },
        steps: Vec::new(),
        approval: None,
        cost: None,
        artifacts: Vec::new(),
        earlier: Vec::new(),
    }
}

fn rich(state: RunState) -> JobView {
    let mut view = job(state);
    view.steps = vec!["read 14 files".into(), "wrote report.md".into()];
    view.run.answer =
        "<thinking>what do they want?</thinking>All **green**.\n```rust\nfn main() {}\n```\nAsk <@5>.".into();
    view.cost = Some(Cost {
        reserved: MicroUsd(500_000),
        spent: MicroUsd(42_000),
        basis: Basis::Estimated,
        settled: state.ended(),
    });
    view.run.usage = Usage { model: Some("m-1".into()), input_tokens: Some(1200), output_tokens: Some(80) };
    view.artifacts = vec![Artifact {
        name: "résumé [1].md".into(),
        kind: ObjectKind::Text,
        size: 70_000,
        guild: Some(GuildId(3)),
        channel: THREAD,
        message: MessageId(99),
    }];
    if state.ended() {
        view.run.summary =
            Some("All **green**. See https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1&is=2&hm=3".into());
    }
    view
}

#[test]
fn host_card_states() {
    let halted =
        HostView { halt: Some(Halt { by: Some("user:5".into()), at: Some(Millis(1_800_000_500_000)) }), ..busy() };
    let lost = HostView {
        link: LinkView {
            state: LinkState::Fatal,
            why: Some("Switch on the Message Content Intent.".into()),
            heartbeat: None,
            last_message: None,
        },
        ..busy()
    };
    let shown: String = [("fresh", host_view()), ("busy", busy()), ("halted", halted), ("fatal", lost)]
        .map(|(name, view)| format!("== {name}\n{}\n", show(&stamped(|s| host::card(&view, &face(), s)))))
        .concat();
    insta::assert_snapshot!("host_card", shown);
}

#[test]
fn job_card_states() {
    let mut waiting = job(RunState::Waiting);
    waiting.approval = Some(PendingApproval {
        id: ApprovalId("a1".into()),
        digest: Sha256::of("x"),
        action: format!("work\nfake\n{}", waiting.task.text),
    });
    let mut again = waiting.clone();
    again.approval.as_mut().unwrap().action = "unsure\nfake\nthe same, but *without* the docs".into();
    let mut failed = job(RunState::Failed);
    failed.run.error = Some("The agent ended with code 3.".into());
    let mut cancelled = rich(RunState::Cancelled);
    cancelled.run.ended_processes = Some(4);
    cancelled.run.cancel_by = Some("user:5".into());
    let mut retried = rich(RunState::Done);
    retried.run.turn = 3;
    retried.earlier = vec![(2, RunState::Interrupted), (1, RunState::Failed)];
    let plain_ones = [
        RunState::Queued,
        RunState::Claimed,
        RunState::Cancelling,
        RunState::Finishing,
        RunState::Cancelled,
        RunState::CancelUnconfirmed,
        RunState::Interrupted,
        RunState::Denied,
    ];
    let views = [waiting, again, rich(RunState::Started), retried, failed, cancelled].into_iter();
    let shown: String = views
        .chain(plain_ones.map(job))
        .map(|view| format!("== {:?}\n{}\n", view.run.state, show(&stamped(|s| job::card(&view, s)))))
        .collect();
    insta::assert_snapshot!("job_card", shown);
}

#[test]
fn receipt_states() {
    let mut failed = job(RunState::Failed);
    failed.run.error = Some("The agent ended with code 3.".into());
    let mut done = rich(RunState::Done);
    done.run.turn = 2;
    done.run.ended_processes = Some(0);
    done.earlier = vec![(1, RunState::Interrupted)];
    let shown: String =
        [done, failed].map(|view| format!("== {:?}\n{}\n", view.run.state, show(&receipt::card(&view)))).concat();
    insta::assert_snapshot!("receipt", shown);
}

#[test]
fn i_10_no_card_carries_a_link_to_bytes_or_reasoning() {
    let view = rich(RunState::Done);
    for text in [show(&stamped(|s| job::card(&view, s))), show(&receipt::card(&view))] {
        assert!(!text.contains("cdn.discordapp.com") && !text.contains("thinking"), "{text}");
    }
    let view = rich(RunState::Started);
    assert!(!show(&stamped(|s| job::card(&view, s))).contains("what do they want"));
}

#[test]
fn i_20_nothing_in_a_card_reads_as_a_mention_of_everybody() {
    let mut view = rich(RunState::Done);
    view.run.summary = Some("@everyone @here <@&44>".into());
    for text in [show(&stamped(|s| job::card(&view, s))), show(&receipt::card(&view))] {
        assert!(!text.contains("@everyone") && !text.contains("@here") && !text.contains("<@&"), "{text}");
    }
}

#[test]
fn buttons_are_bound_to_channel_action_and_mirror() {
    let mut waiting = job(RunState::Waiting);
    let digest = Sha256::of("x");
    waiting.approval = Some(PendingApproval { id: ApprovalId("a1".into()), digest, action: "x".into() });
    let card = stamped(|s| job::card(&waiting, s));
    let Some(Block::Buttons(buttons)) = card.blocks.last() else { panic!("no buttons") };
    for button in buttons {
        let Button::Press { custom_id, .. } = button else { panic!("a link") };
        let signed: Signed = custom_id.parse().unwrap();
        assert_eq!(signed.tap.arg, "m12");
        assert!(signer().check(&signed, THREAD, Some(&digest)).is_ok());
        assert!(signer().check(&signed, ChannelId(78), Some(&digest)).is_err());
        assert!(signer().check(&signed, THREAD, Some(&Sha256::of("y"))).is_err());
    }
}

#[test]
fn a_long_answer_comes_in_parts_before_its_receipt() {
    let mut view = rich(RunState::Done);
    view.run.summary = Some(format!("```py\n{}```", "print(1)\n".repeat(500)));
    let bodies = receipt::bodies(&view);
    let (Body::Card(_), parts) = bodies.split_last().unwrap() else { panic!("the receipt is not last") };
    assert_eq!(parts.len(), 3);
    view.run.summary = Some("word ".repeat(5000));
    assert_eq!(receipt::bodies(&view).len(), 6);
}

proptest! {
    #[test]
    fn every_card_fits_what_discord_takes(
        text in "[a-z漢😀*_`@\n]{0,3000}", steps in prop::collection::vec("[漢*]{0,300}", 0..6), state in 0..12usize,
        name in "[a-z漢*]{0,300}",
    ) {
        let mut view = rich(RunState::ALL[state]);
        view.task.text.clone_from(&text);
        view.task.asker_name.clone_from(&name);
        view.run.answer.clone_from(&text);
        view.run.summary = Some(text.clone());
        view.run.error = Some(text);
        view.steps = steps;
        view.artifacts = vec![Artifact { name, ..view.artifacts[0].clone() }; 25];
        for card in [stamped(|s| job::card(&view, s)), receipt::card(&view)] {
            let texts: Vec<&str> = card.blocks.iter().filter_map(text_of).collect();
            prop_assert!(texts.iter().map(|t| t.chars().count()).sum::<usize>() <= MAX_CHARS + 8);
            prop_assert!(texts.iter().map(|t| t.len() + 12).sum::<usize>() <= MAX_BYTES + 32);
            prop_assert!(texts.iter().all(|t| !t.trim().is_empty()));
            prop_assert!(card.blocks.len() <= 20);
        }
    }
}
