//! Approvals: a yes or no to one action of one run, given once (I-7).

use rusqlite::{OptionalExtension, Row, params};

use super::{LedgerError, Read, Result, Write};
use crate::base::clock::Millis;
use crate::base::hash::Sha256;
use crate::base::ids::{ApprovalId, RunId};
use crate::model::actor::Role;
use crate::model::approval::ApprovalState;

/// An approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Id.
    pub id: ApprovalId,
    /// Run that waits for it.
    pub run: RunId,
    /// What is approved, as its digest covers it.
    pub action: String,
    /// [`crate::model::approval::digest`] of run and action.
    pub digest: Sha256,
    /// The least that one has to be to decide.
    pub approvers: Role,
    /// State.
    pub state: ApprovalState,
    /// [`crate::model::actor::Actor::label`] of who decided.
    pub decided_by: Option<String>,
}

/// What makes an approval.
#[derive(Debug, Clone)]
pub struct NewApproval {
    /// Id.
    pub id: ApprovalId,
    /// Run that waits for it.
    pub run: RunId,
    /// What is approved.
    pub action: String,
    /// Digest of run and action.
    pub digest: Sha256,
    /// The least that one has to be to decide.
    pub approvers: Role,
}

/// Records that a run waits for a decision.
pub fn ask(tx: &Write<'_>, new: &NewApproval, now: Millis) -> Result<()> {
    tx.db.execute(
        "INSERT INTO approvals (approval_id, run_id, action, digest, approvers, state, at)
         VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6)",
        params![new.id.as_str(), new.run.as_str(), new.action, new.digest.to_string(), new.approvers.as_str(), now.0],
    )?;
    Ok(())
}

const COLUMNS: &str = "approval_id, run_id, action, digest, approvers, state, decided_by";

type Raw = (ApprovalId, RunId, String, String, String, String, Option<String>);

fn from_row(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok((ApprovalId(row.get(0)?), RunId(row.get(1)?), row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

fn finish((id, run, action, digest, approvers, state, decided_by): Raw) -> Result<Approval> {
    let bad = |what: &str| LedgerError::Corrupt(format!("approval {id}: {what}"));
    Ok(Approval {
        digest: digest.parse().map_err(|_| bad("digest"))?,
        approvers: Role::parse(&approvers).ok_or_else(|| bad("approvers"))?,
        state: ApprovalState::parse(&state).ok_or_else(|| bad("state"))?,
        id,
        run,
        action,
        decided_by,
    })
}

/// An approval by id.
pub fn get(read: &Read<'_>, id: &ApprovalId) -> Result<Option<Approval>> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE approval_id = ?1");
    read.db.prepare_cached(&sql)?.query_row(params![id.as_str()], from_row).optional()?.map(finish).transpose()
}

/// The approval that a run waits for.
pub fn pending_of(read: &Read<'_>, run: &RunId) -> Result<Option<Approval>> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE run_id = ?1 AND state = 'pending' ORDER BY at LIMIT 1");
    read.db.prepare_cached(&sql)?.query_row(params![run.as_str()], from_row).optional()?.map(finish).transpose()
}

/// Decides, once: gives `false` where it had been decided (or had lapsed) before.
pub fn decide(tx: &Write<'_>, id: &ApprovalId, to: ApprovalState, by: &str, now: Millis) -> Result<bool> {
    let decided = tx.db.execute(
        "UPDATE approvals SET state = ?2, decided_by = ?3, decided_at = ?4
         WHERE approval_id = ?1 AND state = 'pending'",
        params![id.as_str(), to.as_str(), by, now.0],
    )?;
    Ok(decided == 1)
}
