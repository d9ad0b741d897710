//! Where we listen, and how far we have read there (I-2).

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, ChannelId, GuildId, MessageId};

/// What a channel is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// The private channel with the HOST card.
    Staff,
    /// Another channel that takes orders.
    Bound,
    /// Thread of a task.
    Thread,
}

impl Listening {
    fn as_str(self) -> &'static str {
        match self {
            Self::Staff => "staff",
            Self::Bound => "bound",
            Self::Thread => "thread",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Staff, Self::Bound, Self::Thread].into_iter().find(|l| l.as_str() == text)
    }
}

/// A channel that we listen to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Channel or thread.
    pub id: ChannelId,
    /// Guild, where known.
    pub guild: Option<GuildId>,
    /// What it is to us.
    pub listening: Listening,
    /// Everything up to this message has been taken; `None` before the first look.
    pub cursor: Option<MessageId>,
    /// Whether it is left out of catching up (archived or gone).
    pub retired: bool,
}

/// Listens to the staff channel. One that was the staff channel before is no longer read.
pub fn ensure_staff(tx: &Write<'_>, bot: &BotKey, channel: ChannelId, guild: Option<GuildId>) -> Result<()> {
    tx.db.execute(
        "UPDATE channels SET retired = 1 WHERE bot_key = ?1 AND role = 'staff' AND channel_id <> ?2",
        params![bot.as_str(), channel.sql()],
    )?;
    ensure(tx, bot, channel, (guild, None), Listening::Staff)
}

/// Listens to the thread of a task.
pub fn ensure_thread(
    tx: &Write<'_>,
    bot: &BotKey,
    thread: ChannelId,
    parent: ChannelId,
    guild: Option<GuildId>,
) -> Result<()> {
    ensure(tx, bot, thread, (guild, Some(parent)), Listening::Thread)
}

fn ensure(
    tx: &Write<'_>,
    bot: &BotKey,
    channel: ChannelId,
    (guild, parent): (Option<GuildId>, Option<ChannelId>),
    listening: Listening,
) -> Result<()> {
    tx.db.execute(
        "INSERT INTO channels (bot_key, channel_id, parent_id, guild_id, role) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (bot_key, channel_id) DO UPDATE SET retired = 0, role = excluded.role,
             guild_id = coalesce(excluded.guild_id, guild_id), parent_id = coalesce(excluded.parent_id, parent_id)",
        params![bot.as_str(), channel.sql(), parent.map(ChannelId::sql), guild.map(GuildId::sql), listening.as_str()],
    )?;
    Ok(())
}

const COLUMNS: &str = "channel_id, guild_id, role, cursor_id, retired";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Heard, String)> {
    let heard = Heard {
        id: ChannelId::from_sql(row.get(0)?),
        guild: row.get::<_, Option<i64>>(1)?.map(GuildId::from_sql),
        listening: Listening::Bound,
        cursor: row.get::<_, Option<i64>>(3)?.map(MessageId::from_sql),
        retired: row.get(4)?,
    };
    Ok((heard, row.get(2)?))
}

fn finish((heard, role): (Heard, String)) -> Result<Heard> {
    let listening = Listening::parse(&role).ok_or_else(|| LedgerError::Corrupt(format!("channel role {role:?}")))?;
    Ok(Heard { listening, ..heard })
}

/// A channel, if we listen to it.
pub fn get(read: &Read<'_>, bot: &BotKey, channel: ChannelId) -> Result<Option<Heard>> {
    let sql = format!("SELECT {COLUMNS} FROM channels WHERE bot_key = ?1 AND channel_id = ?2");
    let mut found = read.db.prepare_cached(&sql)?;
    found.query_row(params![bot.as_str(), channel.sql()], from_row).optional()?.map(finish).transpose()
}

/// Channels to read: all that take orders, then at most `threads` threads, the longest unread first.
pub fn to_read(read: &Read<'_>, bot: &BotKey, threads: usize) -> Result<Vec<Heard>> {
    let mut all = Vec::new();
    for (which, most) in [("role <> 'thread'", usize::MAX), ("role = 'thread'", threads)] {
        let sql = format!(
            "SELECT {COLUMNS} FROM channels WHERE bot_key = ?1 AND retired = 0 AND {which}
             ORDER BY coalesce(cursor_at, 0), channel_id LIMIT ?2"
        );
        let mut found = read.db.prepare_cached(&sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = found.query_map(params![bot.as_str(), most], from_row)?;
        for row in rows {
            all.push(finish(row?)?);
        }
    }
    Ok(all)
}

/// Moves the cursor forward, never back (I-2). Called in the transaction that took the page.
pub fn advance(tx: &Write<'_>, bot: &BotKey, channel: ChannelId, to: MessageId, now: Millis) -> Result<()> {
    tx.db
        .prepare_cached(
            "UPDATE channels SET cursor_id = max(coalesce(cursor_id, 0), ?3), cursor_at = ?4
             WHERE bot_key = ?1 AND channel_id = ?2",
        )?
        .execute(params![bot.as_str(), channel.sql(), to.sql(), now.0])?;
    Ok(())
}

/// Leaves a channel out of catching up, or takes it in again.
pub fn retire(tx: &Write<'_>, bot: &BotKey, channel: ChannelId, retired: bool) -> Result<()> {
    tx.db.execute(
        "UPDATE channels SET retired = ?3 WHERE bot_key = ?1 AND channel_id = ?2 AND retired <> ?3",
        params![bot.as_str(), channel.sql(), retired],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::HostId;
    use crate::ledger::{Ledger, bots, control};

    #[tokio::test]
    async fn i_2_a_cursor_never_goes_back_and_an_old_staff_channel_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        ledger
            .write("test", |tx| {
                let (host, bot) = (HostId("h1".into()), BotKey("main".into()));
                control::start_host(tx, &host, "b", Millis(1))?;
                bots::ensure(tx, &bot, &host)?;
                bots::ensure(tx, &bot, &host)?;
                ensure_staff(tx, &bot, ChannelId(1), Some(GuildId(5)))?;
                ensure_thread(tx, &bot, ChannelId(10), ChannelId(1), None)?;
                advance(tx, &bot, ChannelId(1), MessageId(100), Millis(2))?;
                advance(tx, &bot, ChannelId(1), MessageId(90), Millis(3))?;
                let staff = get(tx, &bot, ChannelId(1))?.unwrap();
                assert_eq!((staff.cursor, staff.guild), (Some(MessageId(100)), Some(GuildId(5))));
                ensure_staff(tx, &bot, ChannelId(2), None)?;
                let read: Vec<ChannelId> = to_read(tx, &bot, 9)?.into_iter().map(|c| c.id).collect();
                assert_eq!(read, [ChannelId(2), ChannelId(10)]);
                assert_eq!(to_read(tx, &bot, 0)?.len(), 1);
                assert_eq!(get(tx, &bot, ChannelId(3))?, None);
                Ok(())
            })
            .await
            .unwrap();
    }
}
