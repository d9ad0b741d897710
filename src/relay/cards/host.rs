//! The HOST card: whether the machine takes work, and everything one wants to know before tapping.

use super::{AMBER, GREEN, GREY, RED, Stamp, ago, bar, fit, phase, plain};
use crate::base::ids::UserId;
use crate::ledger::people::Subject;
use crate::ledger::spend::Meter;
use crate::ledger::views::{Counts, HostView, LinkState, LinkView, PEOPLE, Person};
use crate::model::actor::Role;
use crate::model::card::{Block, Button, ButtonStyle, Card, Choice, Select};
use crate::model::power::Power;
use crate::model::tap::TapVerb;

/// What the card says of the machine that is not in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Face {
    /// Backend, with its honest label: the fake one says so.
    pub backend: String,
    /// Name of the folder that runs work in.
    pub folder: String,
}

/// Draws the card.
pub fn card(view: &HostView, face: &Face, stamp: &Stamp<'_>) -> Card {
    let mut blocks = vec![Block::Text(title(view)), Block::Text(facts(view, face))];
    blocks.extend(notes(view).map(Block::Text));
    blocks.push(Block::Text(
        "-# Not confined: runs have the power of your account on the machine. So all but plain questions wait for your yes."
            .to_owned(),
    ));
    blocks.push(Block::Divider);
    blocks.push(Block::Buttons(buttons(view, stamp)));
    blocks.extend(menu(view, stamp).map(Block::Menu));
    fit(Card { accent: Some(accent(view)), blocks })
}

fn accent(view: &HostView) -> u32 {
    match (&view.halt, view.power, view.link.state) {
        (Some(_), _, _) | (_, _, LinkState::Fatal) => RED,
        (None, Power::On, LinkState::Up) => GREEN,
        (None, Power::On, _) => AMBER,
        (None, Power::Off, _) => GREY,
    }
}

fn title(view: &HostView) -> String {
    if let Some(halt) = &view.halt {
        let by = halt.by.as_deref().map_or(String::new(), |by| format!(" by {}", who(by, &view.people)));
        let since = halt.at.map_or(String::new(), |at| format!(" {}", ago(at)));
        return format!("### HOST · Halted\nNew work is stopped for money's sake{by}{since}. Resume ends it.");
    }
    if view.power == Power::Off && view.people.is_empty() {
        return "### HOST · Stopped\nThis machine can work for you. Tap Pair to own it, then On to let it take work."
            .to_owned();
    }
    let by = who(&view.power_by, &view.people);
    let why = view.power_why.as_deref().map_or(String::new(), |why| format!(" {}", sentence(why)));
    match view.power {
        Power::On => {
            let at = ago(view.power_at);
            format!("### HOST · Running\nTurned on by {by} {at}.{why} Write a sentence here, or tap Ask.")
        }
        Power::Off => {
            format!("### HOST · Stopped\nTurned off by {by} {}.{why} Tap On to take work.", ago(view.power_at))
        }
    }
}

/// A reason as a sentence of its own.
fn sentence(why: &str) -> String {
    let why = plain(why, 160);
    if why.ends_with('.') { why } else { format!("{why}.") }
}

/// An actor's label in words for people.
fn who(label: &str, people: &[Person]) -> String {
    let user = label.strip_prefix("user:").and_then(|id| id.parse::<UserId>().ok());
    match (label, user) {
        ("local", _) => "the person at the machine".to_owned(),
        ("host", _) => "the host itself".to_owned(),
        (_, Some(user)) => {
            let known = people.iter().find(|p| p.subject == Subject::User(user)).and_then(|p| p.name.as_deref());
            known.map_or(format!("<@{user}>"), |name| plain(name, 40))
        }
        _ => plain(label, 40),
    }
}

fn facts(view: &HostView, face: &Face) -> String {
    let lines = [
        format!("**Discord** {}", link(&view.link)),
        format!("**Jobs** {}", jobs(view.counts)),
        format!("**Spend** {}", view.meter.as_ref().map_or("nothing yet".to_owned(), spend)),
        format!("**People** {}", people(&view.people)),
        format!("**Work** {} in `{}`", face.backend, face.folder.replace('`', "'")),
    ];
    lines.join("\n")
}

/// Jobs by state. What there is none of is left out, so that a quiet card is a short one.
fn jobs(counts: Counts) -> String {
    let counted = [(counts.live, "live"), (counts.queued, "queued"), (counts.waiting, "waiting for a yes")];
    let some: Vec<_> = counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if some.is_empty() { "none live, queued or waiting".to_owned() } else { some.join(" · ") }
}

fn link(link: &LinkView) -> String {
    let why = link.why.as_deref().map_or(String::new(), |why| format!(" ({})", plain(why, 160)));
    let state = match link.state {
        LinkState::Up => format!("connected{why}"),
        LinkState::Connecting => format!("connecting{why}"),
        LinkState::Down => format!("not connected{why}"),
        LinkState::Fatal => format!("ended for good{why}"),
    };
    let heartbeat = link.heartbeat.map_or(String::new(), |at| format!(" · heartbeat {}", ago(at)));
    let message = link.last_message.map_or(String::new(), |at| format!(" · last message {}", ago(at)));
    format!("{state}{heartbeat}{message}")
}

fn spend(meter: &Meter) -> String {
    let estimated = if meter.estimated { " (estimated)" } else { "" };
    let reserved = if meter.reserved.0 > 0 { format!(" · {} reserved", meter.reserved) } else { String::new() };
    format!("{} {} of {}{estimated}{reserved}", bar(meter.spent + meter.reserved, meter.cap), meter.spent, meter.cap)
}

fn people(people: &[Person]) -> String {
    if people.is_empty() {
        return "nobody is paired yet".to_owned();
    }
    let name = |p: &Person| {
        let id = match p.subject {
            Subject::User(user) => format!("<@{user}>"),
            Subject::GuildRole(role) => format!("<@&{role}>"),
        };
        let shown = p.name.as_deref().map_or(id, |name| plain(name, 40));
        format!("{shown} ({})", p.role.as_str())
    };
    let more = if people.len() == PEOPLE { " …" } else { "" };
    format!("{}{more}", people.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn notes(view: &HostView) -> impl Iterator<Item = String> {
    let missed = match view.missed {
        0 => None,
        1 => Some("1 order came late or while off, and was not run. Write it again if you still want it.".to_owned()),
        n => Some(format!("{n} orders came late or while off, and were not run. Write again what you still want.")),
    };
    let held = match view.held {
        0 => None,
        1 => Some("1 message may or may not have been sent; it is held rather than doubled.".to_owned()),
        n => Some(format!("{n} messages may or may not have been sent; they are held rather than doubled.")),
    };
    let failed = match view.failed {
        0 => None,
        1 => Some("1 message could not be sent; the host's log says why.".to_owned()),
        n => Some(format!("{n} messages could not be sent; the host's log says why.")),
    };
    [missed, held, failed].into_iter().flatten()
}

fn buttons(view: &HostView, stamp: &Stamp<'_>) -> Vec<Button> {
    let (on, halted) = (view.power == Power::On, view.halt.is_some());
    let id = view.host.as_str();
    let owned = view.people.iter().any(|p| p.role == Role::Owner);
    let pair = if owned { "Paired" } else { "Pair" };
    let pair_look = if owned { ButtonStyle::Secondary } else { ButtonStyle::Primary };
    let halt = if halted {
        stamp.button((ButtonStyle::Success, "Resume"), TapVerb::Resume, id, true)
    } else {
        stamp.button((ButtonStyle::Danger, "Halt"), TapVerb::Halt, id, true)
    };
    vec![
        stamp.button((ButtonStyle::Success, "On"), TapVerb::On, id, !on),
        stamp.button((ButtonStyle::Danger, "Off"), TapVerb::Off, id, on),
        stamp.button((ButtonStyle::Primary, "Ask"), TapVerb::Ask, id, on && !halted),
        stamp.button((pair_look, pair), TapVerb::Pair, id, true),
        halt,
    ]
}

fn menu(view: &HostView, stamp: &Stamp<'_>) -> Option<Select> {
    let choice = |job: &crate::ledger::views::JobLine| Choice {
        label: crate::base::text::cut(&format!("{} · {}", job.code, phase(job.state).0), 100),
        value: job.run.to_string(),
        description: Some(unescaped(&job.text)).filter(|text| !text.is_empty()),
    };
    let choices: Vec<Choice> = view.jobs.iter().map(choice).collect();
    (!choices.is_empty()).then(|| Select {
        custom_id: stamp.custom_id(TapVerb::Jobs, view.host.as_str(), None),
        placeholder: "Recent jobs".to_owned(),
        choices,
    })
}

/// A menu shows no markdown, so nothing is escaped in it.
fn unescaped(text: &str) -> String {
    let shown = crate::model::reasoning::showable(text);
    crate::base::text::cut(&crate::base::text::one_line(&shown), 100)
}
