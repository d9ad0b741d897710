//! Discord's routes, as far as the simulator has them.

use axum::http::Method;

use crate::base::ids::{BadId, ChannelId, GuildId, InteractionId, MessageId, UserId};

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// GET /gateway
    Gateway,
    /// GET /gateway/bot
    GatewayBot,
    /// GET /users/@me
    Me,
    /// GET /applications/@me
    Application,
    /// POST /users/@me/channels
    OpenDm,
    /// GET /guilds/{id}
    Guild(GuildId),
    /// GET /guilds/{id}/members/{user}
    Member(GuildId, UserId),
    /// GET /guilds/{id}/roles
    Roles(GuildId),
    /// GET /guilds/{id}/channels
    Channels(GuildId),
    /// GET /guilds/{id}/threads/active
    ActiveThreads(GuildId),
    /// GET /channels/{id}
    Channel(ChannelId),
    /// PATCH /channels/{id}
    ChangeChannel(ChannelId),
    /// POST /channels/{id}/typing
    Typing(ChannelId),
    /// GET /channels/{id}/messages
    List(ChannelId),
    /// POST /channels/{id}/messages
    Create(ChannelId),
    /// GET /channels/{id}/messages/{id}
    Get(ChannelId, MessageId),
    /// PATCH /channels/{id}/messages/{id}
    Edit(ChannelId, MessageId),
    /// DELETE /channels/{id}/messages/{id}
    Delete(ChannelId, MessageId),
    /// PUT /channels/{id}/messages/{id}/reactions/{emoji}/@me
    React(ChannelId, MessageId, String),
    /// POST /channels/{id}/messages/{id}/threads
    Thread(ChannelId, MessageId),
    /// POST /interactions/{id}/{token}/callback
    Callback(InteractionId, String),
    /// GET /webhooks/{application}/{token}/messages/@original
    GetOriginal(UserId, String),
    /// PATCH /webhooks/{application}/{token}/messages/@original
    EditOriginal(UserId, String),
    /// DELETE /webhooks/{application}/{token}/messages/@original
    DeleteOriginal(UserId, String),
    /// POST /webhooks/{application}/{token}
    FollowUp(UserId, String),
}

/// An operation and how it is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// What to do.
    pub op: Op,
    /// Name of its bucket.
    pub bucket: &'static str,
    /// Id that the bucket is counted by.
    pub major: String,
    /// Whether it works without the bot's token and does not count to the 50 a second (interaction routes).
    pub free: bool,
    /// Query keys that it knows.
    pub query: &'static [&'static str],
}

/// Why a path is no route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRoute {
    /// Nothing there.
    Unknown,
    /// An id in it is none.
    Id(String),
}

impl From<BadId> for NoRoute {
    fn from(bad: BadId) -> Self {
        Self::Id(bad.text)
    }
}

/// Finds the operation of a path (without `/api/v10`).
pub fn find(method: &Method, path: &str) -> Result<Route, NoRoute> {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let major = segments.get(1).copied().unwrap_or_default().to_owned();
    let route = |op, bucket| Route { op, bucket, major: major.clone(), free: false, query: &[] };
    let get = method == Method::GET;
    let post = method == Method::POST;
    let patch = method == Method::PATCH;
    Ok(match segments.as_slice() {
        ["gateway"] if get => Route { free: true, ..route(Op::Gateway, "gateway") },
        ["gateway", "bot"] if get => route(Op::GatewayBot, "gateway_bot"),
        ["users", "@me"] if get => route(Op::Me, "get_my_user"),
        ["applications", "@me"] if get => route(Op::Application, "get_my_application"),
        ["users", "@me", "channels"] if post => route(Op::OpenDm, "create_dm"),
        ["guilds", g] if get => Route { query: &["with_counts"], ..route(Op::Guild(g.parse()?), "get_guild") },
        ["guilds", g, "members", u] if get => route(Op::Member(g.parse()?, u.parse()?), "get_guild_member"),
        ["guilds", g, "roles"] if get => route(Op::Roles(g.parse()?), "list_guild_roles"),
        ["guilds", g, "channels"] if get => route(Op::Channels(g.parse()?), "list_guild_channels"),
        ["guilds", g, "threads", "active"] if get => route(Op::ActiveThreads(g.parse()?), "active_threads"),
        ["channels", c] if get => route(Op::Channel(c.parse()?), "get_channel"),
        ["channels", c] if patch => route(Op::ChangeChannel(c.parse()?), "update_channel"),
        ["channels", c, "typing"] if post => route(Op::Typing(c.parse()?), "typing"),
        ["channels", c, "messages", rest @ ..] => return message(method, c.parse()?, rest, route),
        ["interactions", i, token, "callback"] if post => {
            let op = Op::Callback(i.parse()?, (*token).to_owned());
            Route { free: true, query: &["with_response"], ..route(op, "callback") }
        }
        ["webhooks", a, token, rest @ ..] => {
            let (app, token) = (a.parse()?, (*token).to_owned());
            let major = format!("{major}:{token}");
            let op = match rest {
                [] if post => Op::FollowUp(app, token),
                ["messages", "@original"] if get => Op::GetOriginal(app, token),
                ["messages", "@original"] if patch => Op::EditOriginal(app, token),
                ["messages", "@original"] if method == Method::DELETE => Op::DeleteOriginal(app, token),
                _ => return Err(NoRoute::Unknown),
            };
            Route { op, bucket: "webhook", major, free: true, query: &["wait"] }
        }
        _ => return Err(NoRoute::Unknown),
    })
}

fn message(
    method: &Method,
    channel: ChannelId,
    rest: &[&str],
    route: impl Fn(Op, &'static str) -> Route,
) -> Result<Route, NoRoute> {
    let get = method == Method::GET;
    let post = method == Method::POST;
    Ok(match rest {
        [] if get => {
            let query = &["limit", "before", "after", "around"];
            Route { query, ..route(Op::List(channel), "list_messages") }
        }
        [] if post => route(Op::Create(channel), "create_message"),
        [m] if get => route(Op::Get(channel, m.parse()?), "get_message"),
        [m] if method == Method::PATCH => route(Op::Edit(channel, m.parse()?), "update_message"),
        [m] if method == Method::DELETE => route(Op::Delete(channel, m.parse()?), "delete_message"),
        [m, "reactions", emoji, "@me"] if method == Method::PUT => {
            route(Op::React(channel, m.parse()?, decode(emoji)), "add_reaction")
        }
        [m, "threads"] if post => route(Op::Thread(channel, m.parse()?), "create_thread"),
        _ => return Err(NoRoute::Unknown),
    })
}

/// Undoes percent-encoding; what is no UTF-8 is replaced.
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Pairs of a query string, decoded.
pub fn query(text: Option<&str>) -> Vec<(String, String)> {
    let pairs = text.unwrap_or_default().split('&').filter(|p| !p.is_empty());
    pairs
        .map(|p| p.split_once('=').unwrap_or((p, "")))
        .map(|(k, v)| (decode(k), decode(&v.replace('+', " "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_or_not() {
        let op = |method: Method, path: &str| find(&method, path).map(|r| r.op);
        assert_eq!(op(Method::GET, "/users/@me"), Ok(Op::Me));
        assert_eq!(op(Method::POST, "/channels/1/messages"), Ok(Op::Create(ChannelId(1))));
        let fire = op(Method::PUT, "/channels/1/messages/2/reactions/%F0%9F%94%A5/@me");
        assert_eq!(fire, Ok(Op::React(ChannelId(1), MessageId(2), "🔥".into())));
        assert_eq!(op(Method::PUT, "/channels/1/messages"), Err(NoRoute::Unknown));
        assert_eq!(op(Method::GET, "/channels/x"), Err(NoRoute::Id("x".into())));
        assert_eq!(op(Method::GET, "/users/@me/"), Err(NoRoute::Unknown));
    }

    #[test]
    fn percent_signs_are_undone() {
        assert_eq!(decode("a%20b%"), "a b%");
        assert_eq!(
            query(Some("a=1&b=x%26y&c")),
            [("a".into(), "1".into()), ("b".into(), "x&y".into()), ("c".into(), String::new())]
        );
    }
}
