//! Values that must never be shown: no `Display`, no `Serialize`, a `Debug` that hides.

use std::fmt;

use zeroize::Zeroizing;

use super::hash::Sha256;

/// A secret text. Wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The secret itself. Every call of this is a place to look at in review.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A short name for the secret that reveals nothing of its characters.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::of(format!("discord-os fingerprint\n{}", self.0.as_str()));
        digest.to_string()[..8].to_owned()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.fingerprint())
    }
}
