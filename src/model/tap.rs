//! Custom ids: what a button carries, and the proof that we made it.
//!
//! `dos1:<key id>:<verb>:<id>:<arg>:<mac>`, at most 100 characters. The MAC is HMAC-SHA-256, cut to 12 bytes,
//! over key id, verb, id, argument, channel and (for an approval) the digest of its action. So a button copied
//! to another channel, or kept from another action, is no button of ours.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};

use crate::base::hash::Sha256;
use crate::base::ids::{ChannelId, KeyId};

/// Discord's bound on a custom id.
pub const MAX_LEN: usize = 100;

const PREFIX: &str = "dos1";
const MAC_BYTES: usize = 12;

/// What a button, menu or form of ours means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TapVerb {
    /// Turn the host on.
    On,
    /// Ask whether to turn it off.
    Off,
    /// Yes, off.
    OffConfirm,
    /// No, keep it on.
    OffCancel,
    /// Open the Ask form, or take it back filled in.
    Ask,
    /// Become the owner, or ask to be paired.
    Pair,
    /// Stop new work for money's sake.
    Halt,
    /// End the halt.
    Resume,
    /// Choose a recent job.
    Jobs,
    /// End a run.
    Cancel,
    /// Run a task again.
    Retry,
    /// Yes to an approval.
    Approve,
    /// No to an approval.
    Deny,
    /// Show a run's receipt, privately.
    Receipt,
    /// Present on a card only so that the card can be found again; pressing it does nothing.
    Mark,
}

impl TapVerb {
    /// Every verb.
    pub const ALL: [Self; 15] = [
        Self::On,
        Self::Off,
        Self::OffConfirm,
        Self::OffCancel,
        Self::Ask,
        Self::Pair,
        Self::Halt,
        Self::Resume,
        Self::Jobs,
        Self::Cancel,
        Self::Retry,
        Self::Approve,
        Self::Deny,
        Self::Receipt,
        Self::Mark,
    ];

    /// As it stands in the custom id.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::OffConfirm => "off-confirm",
            Self::OffCancel => "off-cancel",
            Self::Ask => "ask",
            Self::Pair => "pair",
            Self::Halt => "halt",
            Self::Resume => "resume",
            Self::Jobs => "jobs",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Receipt => "receipt",
            Self::Mark => "mark",
        }
    }
}

/// What a custom id says, before its MAC is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// What to do.
    pub verb: TapVerb,
    /// To what: a host, run or approval id (`[a-z0-9-]`, 1 to 36 characters).
    pub id: String,
    /// Mirror that carries the button (`m12`), so that a card whose post was cut off is found again; may be empty.
    pub arg: String,
}

/// A custom id that is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTap {
    /// Not of our form.
    #[error("not a custom id of discord-os")]
    Form,
    /// Made with a key that this host does not have.
    #[error("made with an unknown key")]
    Key,
    /// The MAC does not fit: forged, moved to another channel, or for another action.
    #[error("its proof does not fit")]
    Mac,
}

/// A custom id taken apart, not yet believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Key it claims to be made with.
    pub key: KeyId,
    /// What it says.
    pub tap: Tap,
    mac: [u8; MAC_BYTES],
}

impl Tap {
    /// A tap. `id` and `arg` must be of `[a-z0-9-]`, at most 36 and 12 characters (checked when signed).
    pub fn new(verb: TapVerb, id: impl Into<String>, arg: impl Into<String>) -> Self {
        Self { verb, id: id.into(), arg: arg.into() }
    }
}

/// Makes and checks custom ids with one key.
#[derive(Clone)]
pub struct Signer {
    key: KeyId,
    secret: [u8; 32],
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.key)
    }
}

impl Signer {
    /// A signer for a key; its id is at most 8 characters of `[a-z0-9-]`.
    pub fn new(key: KeyId, secret: [u8; 32]) -> Self {
        Self { key, secret }
    }

    /// The custom id for `tap` in `channel`.
    pub fn sign(&self, tap: &Tap, channel: ChannelId, action: Option<&Sha256>) -> String {
        let mac = URL_SAFE_NO_PAD.encode(self.mac(&self.key, tap, channel, action));
        format!("{PREFIX}:{}:{}:{}:{}:{mac}", self.key, tap.verb.as_str(), tap.id, tap.arg)
    }

    /// Whether `signed` was made by this key for this channel and action. Constant time.
    pub fn check(&self, signed: &Signed, channel: ChannelId, action: Option<&Sha256>) -> Result<(), BadTap> {
        if signed.key != self.key {
            return Err(BadTap::Key);
        }
        let made = self.mac(&signed.key, &signed.tap, channel, action);
        let differ = made.iter().zip(&signed.mac).fold(0u8, |sum, (a, b)| sum | (a ^ b));
        if differ == 0 { Ok(()) } else { Err(BadTap::Mac) }
    }

    fn mac(&self, key: &KeyId, tap: &Tap, channel: ChannelId, action: Option<&Sha256>) -> [u8; MAC_BYTES] {
        let action = action.map_or(String::from("-"), Sha256::to_string);
        let text = format!("{PREFIX}\n{key}\n{}\n{}\n{}\n{channel}\n{action}", tap.verb.as_str(), tap.id, tap.arg);
        // HMAC pads a key shorter than its block with zeros (RFC 2104); done here, so that no length can be wrong.
        let mut block = [0u8; 64];
        block[..self.secret.len()].copy_from_slice(&self.secret);
        let mut mac = <Hmac<sha2::Sha256> as KeyInit>::new(&block.into());
        mac.update(text.as_bytes());
        let full = mac.finalize().into_bytes();
        let mut out = [0u8; MAC_BYTES];
        out.copy_from_slice(&full[..MAC_BYTES]);
        out
    }
}

impl FromStr for Signed {
    type Err = BadTap;

    fn from_str(text: &str) -> Result<Self, BadTap> {
        if text.len() > MAX_LEN {
            return Err(BadTap::Form);
        }
        let parts: Vec<&str> = text.split(':').collect();
        let [PREFIX, key, verb, id, arg, mac] = parts[..] else { return Err(BadTap::Form) };
        let verb = TapVerb::ALL.into_iter().find(|v| v.as_str() == verb).ok_or(BadTap::Form)?;
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if key.is_empty() || key.len() > 8 || id.is_empty() || id.len() > 36 || arg.len() > 12 {
            return Err(BadTap::Form);
        }
        if !plain(key) || !plain(id) || !plain(arg) {
            return Err(BadTap::Form);
        }
        let mac = URL_SAFE_NO_PAD.decode(mac).map_err(|_| BadTap::Form)?;
        let mac = mac.try_into().map_err(|_| BadTap::Form)?;
        Ok(Self { key: KeyId(key.to_owned()), tap: Tap::new(verb, id, arg), mac })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signer() -> Signer {
        Signer::new(KeyId("k1".into()), [7; 32])
    }

    proptest! {
        #[test]
        fn every_tap_round_trips(verb in 0..TapVerb::ALL.len(), id in "[a-z0-9-]{1,36}", arg in "[a-z0-9-]{0,12}", channel: u32) {
            let tap = Tap::new(TapVerb::ALL[verb], id, arg);
            let channel = ChannelId(u64::from(channel));
            let text = signer().sign(&tap, channel, None);
            prop_assert!(text.len() <= MAX_LEN, "{} is {} long", text, text.len());
            let signed: Signed = text.parse().unwrap();
            prop_assert_eq!(&signed.tap, &tap);
            prop_assert_eq!(signer().check(&signed, channel, None), Ok(()));
            prop_assert_eq!(signer().check(&signed, ChannelId(channel.0 + 1), None), Err(BadTap::Mac));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,120}") {
            drop(text.parse::<Signed>());
        }

        #[test]
        fn a_changed_character_is_noticed(at in 0usize..80, with in "[a-z0-9]") {
            let tap = Tap::new(TapVerb::Approve, "0123456789abcdef", "m12");
            let channel = ChannelId(5);
            let text = signer().sign(&tap, channel, Some(&Sha256::of("x")));
            let at = at % text.len();
            let mut forged = text.clone();
            forged.replace_range(at..=at, &with);
            if forged != text && let Ok(signed) = forged.parse::<Signed>() {
                prop_assert!(signer().check(&signed, channel, Some(&Sha256::of("x"))).is_err());
            }
        }
    }

    #[test]
    fn another_action_or_key_is_refused() {
        let tap = Tap::new(TapVerb::Approve, "a1", "");
        let signed: Signed = signer().sign(&tap, ChannelId(5), Some(&Sha256::of("x"))).parse().unwrap();
        assert_eq!(signer().check(&signed, ChannelId(5), Some(&Sha256::of("y"))), Err(BadTap::Mac));
        let other = Signer::new(KeyId("k2".into()), [7; 32]);
        assert_eq!(other.check(&signed, ChannelId(5), Some(&Sha256::of("x"))), Err(BadTap::Key));
    }
}
