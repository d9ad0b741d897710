//! Every name that can be set, once.

/// A name and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Name, the same in the environment, `.env` and `config.toml`.
    pub name: &'static str,
    /// Whether its value is shown as a fingerprint only.
    pub secret: bool,
    /// What it sets.
    pub about: &'static str,
}

macro_rules! names {
    ($($id:ident $secret:literal $about:literal;)*) => {
        $(#[doc = $about] pub const $id: &str = stringify!($id);)*
        /// Every name, in the order that `discord-os config` prints them.
        pub const ALL: &[Known] = &[$(Known { name: stringify!($id), secret: $secret, about: $about }),*];
    };
}

names! {
    DISCORD_BOT_TOKEN true "Token of the bot.";
    DISCORD_APPLICATION_ID false "Application of the bot.";
    DISCORD_CHANNEL_ID false "Staff channel.";
    DISCORD_GUILD_ID false "Guild of the staff channel.";
    DISCORD_OWNER_ID false "Pinned owner; turns pairing by tap off.";
    DISCORD_API_BASE false "Where Discord's REST is: https://…, or plain http on loopback.";
    DISCORD_MAX_OBJECT_BYTES false "Largest object, in bytes.";
    DISCORD_OS_MESSAGE_CONTENT false "Whether to ask for the Message Content Intent: on or off.";
    AGENT_DISCORD_WORKSPACE false "Folder that holds everything of this host.";
    AGENT_DISCORD_BACKEND false "Who does the work: command or fake (puppetmaster comes later).";
    DISCORD_OS_COMMAND false "Command line of the command backend, as shell words.";
    DISCORD_OS_COMMAND_COST false "Whether its runs cost money: free or unknown.";
    PUPPETMASTER_CWD false "Folder that runs work in.";
    DISCORD_OS_SPEND_CAP_USD false "Cap of the spend meter, in US dollars.";
    DISCORD_OS_RUN_MAX_USD false "Most that one run may cost, in US dollars.";
    DISCORD_OS_UNKNOWN_RUN_USD false "What a run of unknown price counts as, in US dollars.";
    DISCORD_OS_MAX_LIVE false "Most runs at a time.";
    DISCORD_OS_RUN_DEADLINE false "Longest a run may take, such as 1h or 90s.";
    DISCORD_OS_CATCHUP_AUTO false "Messages found late and younger than this run at once while On, such as 2min.";
    NO_COLOR false "Set to anything: no colour on the terminal.";
}

/// What is known of a name.
pub fn find(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}

/// The known name that looks most like `name`.
pub fn nearest(name: &str) -> &'static str {
    let wanted = name.to_uppercase().replace('-', "_");
    ALL.iter().map(|known| known.name).min_by_key(|known| distance(&wanted, known)).unwrap_or(AGENT_DISCORD_WORKSPACE)
}

/// Levenshtein distance, with a prefix or suffix of a name counted as close: `CHANNEL_ID`, `SPEND_CAP`.
fn distance(a: &str, b: &str) -> usize {
    if a.len() >= 4 && b.contains(a) {
        return 1;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_what_was_meant() {
        for (wrong, right) in [
            ("DISCORD_CHANEL_ID", DISCORD_CHANNEL_ID),
            ("discord_bot_token", DISCORD_BOT_TOKEN),
            ("SPEND_CAP", DISCORD_OS_SPEND_CAP_USD),
            ("DISCORD_TOKEN", DISCORD_BOT_TOKEN),
            ("max-live", DISCORD_OS_MAX_LIVE),
        ] {
            assert_eq!(nearest(wrong), right, "{wrong}");
        }
    }
}
