//! A bot: an account that this host speaks through. Later there can be several.

use crate::base::ids::{ApplicationId, UserId};

/// What Discord says our account is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// The account.
    pub user: UserId,
    /// Its name.
    pub name: String,
    /// Its application.
    pub application: ApplicationId,
    /// Whether a picture is set.
    pub has_avatar: bool,
}
