//! What is missing while everything else works: said on the card, several things at a time, and no longer than they
//! are missing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::base::ids::ChannelId;

/// Something that a person has to grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// The Message Content Intent.
    Content,
    /// Access to a channel that takes orders.
    Channel(ChannelId),
}

/// What is missing now, each with its sentence.
#[derive(Debug, Default)]
pub(super) struct Lacks(Mutex<BTreeMap<Lack, String>>);

impl Lacks {
    /// Notes that something is missing, or (`None`) that it no longer is. Whether that is news.
    pub(super) fn set(&self, lack: Lack, what: Option<String>) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match what {
            Some(what) => all.insert(lack, what.clone()) != Some(what),
            None => all.remove(&lack).is_some(),
        }
    }

    /// All of it in sentences.
    pub(super) fn text(&self) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!all.is_empty()).then(|| all.values().cloned().collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_no_longer_said_and_the_rest_still_is() {
        let lacks = Lacks::default();
        assert!(lacks.set(Lack::Content, Some("No content.".into())));
        assert!(lacks.set(Lack::Channel(ChannelId(1)), Some("No access.".into())));
        assert!(!lacks.set(Lack::Content, Some("No content.".into())));
        assert_eq!(lacks.text().as_deref(), Some("No content. No access."));
        assert!(lacks.set(Lack::Channel(ChannelId(1)), None) && !lacks.set(Lack::Channel(ChannelId(1)), None));
        assert_eq!(lacks.text().as_deref(), Some("No content."));
    }
}
