//! What to do after a connection was closed (discord/facts.md section 2, the practical table).

use crate::base::failure::{Failure, Kind};

/// Close code of our own goodbyes: unlike 1000 and 1001 it leaves the session resumable.
pub const RESUMABLE: u16 = 4000;

/// Close code for intents that are not switched on in the Developer Portal.
pub const DISALLOWED_INTENTS: u16 = 4014;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Connect again and resume the session.
    Resume,
    /// Connect again and begin a new session.
    Identify,
    /// Stop: a person has to do something first.
    Stop(Failure),
}

/// What follows a close code of Discord's; `None` is a connection that broke without one.
pub fn after(code: Option<u16>) -> Next {
    match code {
        Some(4003 | 4005 | 4007 | 4009) => Next::Identify,
        Some(code @ (4004 | 4010..=4014)) => Next::Stop(step(code)),
        // The clients differ on a server's 1000 and 1001. A resume costs no IDENTIFY and is refused if it must be;
        // the same goes for codes that nobody has documented.
        _ => Next::Resume,
    }
}

/// Whether the gateway stopped because of the Message Content Intent, so that a caller can go on without it.
pub fn lacks_intent(failure: &Failure) -> bool {
    *failure == step(DISALLOWED_INTENTS)
}

fn step(code: u16) -> Failure {
    let (message, hint) = match code {
        4004 => (
            "Discord refused the bot token (close code 4004).",
            "Reset the token in the Discord Developer Portal under Bot, and set DISCORD_BOT_TOKEN anew.",
        ),
        4011 => (
            "The bot is in too many servers for one connection (close code 4011).",
            "Create an application of your own for this host in the Discord Developer Portal, or leave servers.",
        ),
        DISALLOWED_INTENTS => (
            "Discord refused the intents that were asked for (close code 4014).",
            "Switch on Message Content Intent in the Discord Developer Portal under Bot, Privileged Gateway Intents.",
        ),
        4010 => (
            "Discord refused the connection as an invalid shard (close code 4010).",
            "Update discord-os; if that does not help, report it.",
        ),
        4012 => ("Discord no longer speaks gateway version 10 (close code 4012).", "Update discord-os."),
        _ => (
            "Discord does not know an intent that was asked for (close code 4013).",
            "Update discord-os; if that does not help, report it.",
        ),
    };
    Failure::new(Kind::Discord, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_close_code_has_its_answer() {
        let resume = [None, Some(1000), Some(1001), Some(1006), Some(4000), Some(4001), Some(4002), Some(4008)];
        for code in resume.into_iter().chain([Some(1011), Some(4006), Some(4999)]) {
            assert_eq!(after(code), Next::Resume, "{code:?}");
        }
        for code in [4003, 4005, 4007, 4009] {
            assert_eq!(after(Some(code)), Next::Identify, "{code}");
        }
        for code in [4004, 4010, 4011, 4012, 4013, 4014] {
            let Next::Stop(failure) = after(Some(code)) else { panic!("{code} must stop") };
            assert!(failure.message.contains(&format!("close code {code}")), "{failure}");
            assert!(failure.hint.as_deref().is_some_and(|h| h.ends_with('.')), "{failure}");
            assert_eq!(lacks_intent(&failure), code == 4014);
        }
    }

    #[test]
    fn the_portal_steps_are_named() {
        let text = |code| match after(Some(code)) {
            Next::Stop(failure) => failure.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(text(4014).contains("Message Content Intent"));
        assert!(text(4004).contains("Reset the token"));
    }
}
