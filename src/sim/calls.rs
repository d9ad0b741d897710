//! Interactions: 3 s to answer, once, then a token for 15 minutes (discord/facts.md section 3).

use std::collections::BTreeMap;

use serde_json::Value;

use super::rules::Refusal;
use crate::base::clock::Millis;
use crate::base::ids::{ChannelId, InteractionId, MessageId, UserId};

/// Time for the first answer, in ms.
pub const ANSWER_MS: i64 = 3000;
/// Life of the token, in ms.
pub const TOKEN_MS: i64 = 900_000;

/// One interaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Id.
    pub id: InteractionId,
    /// Token.
    pub token: String,
    /// Who acted.
    pub user: UserId,
    /// Where.
    pub channel: ChannelId,
    /// Message whose component was used.
    pub message: Option<MessageId>,
    /// 3 for a component, 5 for a form.
    pub kind: u64,
    /// When.
    pub at: Millis,
    /// First answer's kind and time.
    pub answered: Option<(u64, Millis)>,
    /// Whether time ran out.
    pub failed: bool,
    /// The form that was the answer.
    pub modal: Option<Value>,
    /// `@original`.
    pub original: Option<MessageId>,
    /// Whether follow-ups without a flag of their own are private.
    pub private: bool,
}

impl Call {
    /// State for the page.
    pub fn state(&self) -> &'static str {
        match (self.answered, self.failed) {
            (Some(_), _) => "answered",
            (None, true) => "failed",
            (None, false) => "waiting",
        }
    }
}

/// All interactions that are young enough to matter.
#[derive(Debug, Default)]
pub struct Calls(BTreeMap<InteractionId, Call>);

impl Calls {
    /// Adds one.
    pub fn open(&mut self, call: Call) {
        self.0.insert(call.id, call);
    }

    /// One by its id.
    pub fn get(&self, id: InteractionId) -> Option<&Call> {
        self.0.get(&id)
    }

    /// One that may be answered now (not yet, in time, by its own token).
    pub fn answerable(&mut self, id: InteractionId, token: &str, now: Millis) -> Result<&mut Call, Refusal> {
        let call = self.0.get_mut(&id).filter(|c| c.token == token).ok_or_else(Refusal::unknown_interaction)?;
        if call.answered.is_some() {
            return Err(Refusal::new(400, 40_060, "Interaction has already been acknowledged."));
        }
        if call.failed || now.0 - call.at.0 > ANSWER_MS {
            return Err(Refusal::unknown_interaction());
        }
        Ok(call)
    }

    /// One whose token still edits and follows up.
    pub fn by_token(&mut self, token: &str, now: Millis) -> Result<&mut Call, Refusal> {
        let call = self.0.values_mut().find(|c| c.token == token).ok_or_else(Refusal::unknown_webhook)?;
        if now.0 - call.at.0 > TOKEN_MS {
            return Err(Refusal::unknown_webhook());
        }
        if call.answered.is_none() {
            return Err(Refusal::new(404, 10_015, "Unknown Webhook"));
        }
        Ok(call)
    }

    /// Marks those whose time ran out, forgets the old ones; gives the newly failed.
    pub fn sweep(&mut self, now: Millis) -> Vec<Call> {
        self.0.retain(|_, c| now.0 - c.at.0 <= TOKEN_MS * 2);
        let late = self.0.values_mut().filter(|c| c.answered.is_none() && !c.failed && now.0 - c.at.0 > ANSWER_MS);
        late.map(|call| {
            call.failed = true;
            call.clone()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(at: i64) -> Call {
        Call {
            id: InteractionId(1),
            token: "t".into(),
            user: UserId(2),
            channel: ChannelId(3),
            message: None,
            kind: 3,
            at: Millis(at),
            answered: None,
            failed: false,
            modal: None,
            original: None,
            private: false,
        }
    }

    #[test]
    fn three_seconds_and_once() {
        let mut calls = Calls::default();
        calls.open(call(0));
        let id = InteractionId(1);
        assert_eq!(calls.answerable(id, "u", Millis(1)).unwrap_err().code, 10_062);
        assert_eq!(calls.answerable(InteractionId(9), "t", Millis(1)).unwrap_err().code, 10_062);
        assert_eq!(calls.answerable(id, "t", Millis(3001)).unwrap_err().code, 10_062);
        assert_eq!(calls.by_token("t", Millis(1)).unwrap_err().code, 10_015);
        calls.answerable(id, "t", Millis(2900)).unwrap().answered = Some((4, Millis(2900)));
        assert_eq!(calls.answerable(id, "t", Millis(2901)).unwrap_err().code, 40_060);
        assert!(calls.by_token("t", Millis(TOKEN_MS)).is_ok());
        assert_eq!(calls.by_token("t", Millis(TOKEN_MS + 1)).unwrap_err().code, 50_027);
    }

    #[test]
    fn silence_fails_once() {
        let mut calls = Calls::default();
        calls.open(call(0));
        assert!(calls.sweep(Millis(3000)).is_empty());
        assert_eq!(calls.sweep(Millis(3001)).len(), 1);
        assert!(calls.sweep(Millis(3002)).is_empty());
        assert_eq!(calls.answerable(InteractionId(1), "t", Millis(10)).unwrap_err().code, 10_062);
    }
}
