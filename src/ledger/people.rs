//! People: who may do what with a bot's host.

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write, mirrors};
use crate::base::clock::Millis;
use crate::base::ids::{BotKey, RoleId, UserId};
use crate::model::actor::Role;

/// Whom a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One person.
    User(UserId),
    /// Everybody who has this role of the guild. Never the owner.
    GuildRole(RoleId),
}

/// Who may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Whom it names.
    pub subject: Subject,
    /// As what.
    pub role: Role,
    /// Name, for people.
    pub name: Option<String>,
    /// [`crate::model::actor::Actor::label`] of who added it.
    pub added_by: String,
    /// When.
    pub at: Millis,
}

/// Adds a person. Gives `false` where that changed nothing: the row is there, or another owner is (I-5).
pub fn add(tx: &Write<'_>, bot: &BotKey, person: &Person) -> Result<bool> {
    let (kind, id) = match person.subject {
        Subject::User(user) => ("user", user.sql()),
        Subject::GuildRole(role) => ("role", role.sql()),
    };
    let added = tx.db.execute(
        "INSERT INTO people (bot_key, user_id, kind, role, name, added_by, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT DO NOTHING",
        params![bot.as_str(), id, kind, person.role.as_str(), person.name, person.added_by, person.at.0],
    )?;
    if added > 0 {
        mirrors::touch_hosts(tx)?;
    }
    Ok(added > 0)
}

const COLUMNS: &str = "user_id, kind, role, name, added_by, at";

fn from_row(row: &Row<'_>) -> rusqlite::Result<(Person, String)> {
    let id: i64 = row.get(0)?;
    let kind: String = row.get(1)?;
    let user = kind == "user";
    let person = Person {
        subject: if user { Subject::User(UserId::from_sql(id)) } else { Subject::GuildRole(RoleId::from_sql(id)) },
        role: Role::Member,
        name: row.get(3)?,
        added_by: row.get(4)?,
        at: Millis(row.get(5)?),
    };
    Ok((person, row.get(2)?))
}

fn finish((person, role): (Person, String)) -> Result<Person> {
    Ok(Person { role: parse(&role)?, ..person })
}

fn parse(text: &str) -> Result<Role> {
    Role::parse(text).ok_or_else(|| LedgerError::Corrupt(format!("role {text:?}")))
}

/// Everybody, in the order they were added.
pub fn list(read: &Read<'_>, bot: &BotKey) -> Result<Vec<Person>> {
    let sql = format!("SELECT {COLUMNS} FROM people WHERE bot_key = ?1 ORDER BY at, user_id");
    let mut found = read.db.prepare_cached(&sql)?;
    let rows = found.query_map(params![bot.as_str()], from_row)?;
    rows.map(|row| finish(row?)).collect()
}

/// The owner, once there is one.
pub fn owner(read: &Read<'_>, bot: &BotKey) -> Result<Option<Person>> {
    let sql = format!("SELECT {COLUMNS} FROM people WHERE bot_key = ?1 AND role = 'owner'");
    read.db.prepare_cached(&sql)?.query_row(params![bot.as_str()], from_row).optional()?.map(finish).transpose()
}

/// Whether anybody at all is paired (I-5).
pub fn anybody(read: &Read<'_>, bot: &BotKey) -> Result<bool> {
    exists(read, bot, "1")
}

/// Whether some row names a role of the guild, so that a stranger's roles matter.
pub fn by_guild_role(read: &Read<'_>, bot: &BotKey) -> Result<bool> {
    exists(read, bot, "kind = 'role'")
}

fn exists(read: &Read<'_>, bot: &BotKey, what: &str) -> Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM people WHERE bot_key = ?1 AND {what})");
    Ok(read.db.prepare_cached(&sql)?.query_row(params![bot.as_str()], |row| row.get(0))?)
}

/// The most that a person is, by account or by a role of the guild; `None` is a stranger.
pub fn role_of(read: &Read<'_>, bot: &BotKey, user: UserId, roles: &[RoleId]) -> Result<Option<Role>> {
    let sql = "SELECT role, user_id, kind FROM people WHERE bot_key = ?1 AND (kind = 'role' OR user_id = ?2)";
    let mut found = read.db.prepare_cached(sql)?;
    let mut rows = found.query(params![bot.as_str(), user.sql()])?;
    let mut most = None;
    while let Some(row) = rows.next()? {
        let (role, id, kind): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if kind == "user" || roles.contains(&RoleId::from_sql(id)) {
            most = most.max(Some(parse(&role)?));
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::HostId;
    use crate::ledger::{Ledger, bots, control};

    #[tokio::test]
    async fn i_5_there_is_one_owner_and_the_most_of_several_roles_counts() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        ledger
            .write("test", |tx| {
                let (host, bot) = (HostId("h1".into()), BotKey("main".into()));
                control::start_host(tx, &host, "b", Millis(1))?;
                bots::ensure(tx, &bot, &host)?;
                let person =
                    |subject, role| Person { subject, role, name: None, added_by: "local".into(), at: Millis(1) };
                assert!(!anybody(tx, &bot)?);
                assert!(add(tx, &bot, &person(Subject::User(UserId(1)), Role::Owner))?);
                assert!(!add(tx, &bot, &person(Subject::User(UserId(2)), Role::Owner))?);
                assert!(add(tx, &bot, &person(Subject::User(UserId(2)), Role::Member))?);
                assert!(add(tx, &bot, &person(Subject::GuildRole(RoleId(9)), Role::Operator))?);
                assert_eq!(role_of(tx, &bot, UserId(1), &[])?, Some(Role::Owner));
                assert_eq!(role_of(tx, &bot, UserId(2), &[])?, Some(Role::Member));
                assert_eq!(role_of(tx, &bot, UserId(2), &[RoleId(9)])?, Some(Role::Operator));
                assert_eq!(role_of(tx, &bot, UserId(3), &[RoleId(8)])?, None);
                // A person whose account had the number of a role would not be everybody with that role.
                assert_eq!(role_of(tx, &bot, UserId(9), &[])?, None);
                assert_eq!(owner(tx, &bot)?.unwrap().subject, Subject::User(UserId(1)));
                assert_eq!(list(tx, &bot)?.len(), 3);
                Ok(())
            })
            .await
            .unwrap();
    }
}
