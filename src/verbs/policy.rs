//! Who may do what (DESIGN 5). Only this file can make an [`Allowed`], from the ledger's own state and the roles that
//! the event carried (I-4).

use super::{Order, Tools, Verb};
use crate::base::ids::UserId;
use crate::ledger::{self, Read, approvals, control, people};
use crate::model::actor::{AccountKind, Actor, Role};

/// Proof that an order was checked. What it holds cannot be changed afterwards.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    order: &'a Order,
    tools: &'a Tools,
    grant: Grant,
}

impl<'a> Allowed<'a> {
    /// What was asked for, by whom and where.
    pub fn order(&self) -> &'a Order {
        self.order
    }

    /// What deciding needs besides the ledger.
    pub fn tools(&self) -> &'a Tools {
        self.tools
    }

    /// What the actor is to this host.
    pub fn role(&self) -> Role {
        match self.grant {
            Grant::As(role) => role,
            Grant::NewOwner => Role::Owner,
        }
    }

    /// Whether this order makes its actor the owner (I-5).
    pub fn makes_owner(&self) -> bool {
        self.grant == Grant::NewOwner
    }
}

/// A no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why, and who can help: sentences for the person alone.
    pub why: String,
}

/// In which capacity an order is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    As(Role),
    NewOwner,
}

/// Through what the actor acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    /// The person at the machine, or the host itself.
    Machine,
    /// An account on Discord.
    Account(UserId, AccountKind),
}

/// What the ledger knows about this moment.
#[derive(Debug, Clone, Copy)]
struct Facts {
    face: Face,
    role: Option<Role>,
    needed: Role,
    paired: Paired,
}

/// How the host is paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paired {
    /// With somebody; the owner, where there is one.
    With(Option<UserId>),
    /// With nobody, and a setting names the owner.
    Pinned,
    /// With nobody. Whether this order stands on the host's current card.
    Nobody { on_current_card: bool },
}

/// Checks an order. The inner error is a refusal, the outer one the ledger's.
///
/// # Errors
/// The ledger's own.
pub fn allow<'a>(
    read: &Read<'_>,
    order: &'a Order,
    tools: &'a Tools,
) -> ledger::Result<std::result::Result<Allowed<'a>, Refusal>> {
    let (face, role) = match &order.actor {
        Actor::Local | Actor::Host => (Face::Machine, Some(Role::Owner)),
        Actor::Discord { user, kind, roles } => {
            (Face::Account(*user, *kind), people::role_of(read, &tools.bot, *user, roles)?)
        }
    };
    let facts = Facts { face, role, needed: needed(read, &order.verb)?, paired: paired(read, order, tools)? };
    Ok(judge(&order.verb, &facts).map(|grant| Allowed { order, tools, grant }).map_err(|why| Refusal { why }))
}

fn paired(read: &Read<'_>, order: &Order, tools: &Tools) -> ledger::Result<Paired> {
    if people::anybody(read, &tools.bot)? {
        let owner = people::owner(read, &tools.bot)?.and_then(|person| match person.subject {
            people::Subject::User(user) => Some(user),
            people::Subject::GuildRole(_) => None,
        });
        return Ok(Paired::With(owner));
    }
    if tools.owner_pinned {
        return Ok(Paired::Pinned);
    }
    let on_current_card = match order.place.message {
        Some(message) => control::is_current_card(read, &tools.bot, &tools.host, message)?,
        None => false,
    };
    Ok(Paired::Nobody { on_current_card })
}

/// The least that one has to be.
fn needed(read: &Read<'_>, verb: &Verb) -> ledger::Result<Role> {
    Ok(match verb {
        Verb::On | Verb::Off | Verb::OffConfirm | Verb::OffCancel | Verb::Halt | Verb::Resume => Role::Operator,
        Verb::AskForm | Verb::Ask { .. } | Verb::Cancel { .. } | Verb::Retry { .. } => Role::Operator,
        Verb::Approve { approval } | Verb::Deny { approval } => {
            approvals::get(read, approval)?.map_or(Role::Approver, |a| a.approvers.max(Role::Approver))
        }
        // One has to see what one decides on.
        Verb::Receipt { .. } => Role::Approver,
        Verb::Pair => Role::Member,
    })
}

/// The rule itself.
fn judge(verb: &Verb, facts: &Facts) -> std::result::Result<Grant, String> {
    let Face::Account(user, kind) = facts.face else { return Ok(Grant::As(Role::Owner)) };
    if kind != AccountKind::Human {
        return Err("Bots and webhooks cannot control this host. A person has to do it.".to_owned());
    }
    let owner = match facts.paired {
        Paired::With(owner) => owner,
        Paired::Pinned => {
            return Err("The owner of this host is set on the machine (DISCORD_OWNER_ID). Ask that person.".to_owned());
        }
        Paired::Nobody { on_current_card } => return first_owner(verb, on_current_card),
    };
    match facts.role {
        Some(role) if role >= facts.needed => Ok(Grant::As(role)),
        Some(role) => Err(format!(
            "You are {} {} of this host; this needs {} {}. {}",
            article(role),
            role.as_str(),
            article(facts.needed),
            facts.needed.as_str(),
            who_helps(owner)
        )),
        None => Err(format!("You are not paired with this host. {} Your user id is {user}.", who_helps(owner))),
    }
}

/// I-5: a tap on Pair or On by a human on the current card, and nothing else, makes the first owner.
fn first_owner(verb: &Verb, on_current_card: bool) -> std::result::Result<Grant, String> {
    match (verb, on_current_card) {
        (Verb::Pair | Verb::On, true) => Ok(Grant::NewOwner),
        (Verb::Pair | Verb::On, false) => {
            Err("This is not the newest HOST card. Tap Pair on the newest one to become the owner.".to_owned())
        }
        _ => {
            Err("Nobody is paired with this host yet. Tap Pair on the newest HOST card to become its owner.".to_owned())
        }
    }
}

fn who_helps(owner: Option<UserId>) -> String {
    match owner {
        Some(owner) => format!("Ask <@{owner}>, who owns it, to add you."),
        None => "Ask the person at the machine to add you.".to_owned(),
    }
}

fn article(role: Role) -> &'static str {
    match role {
        Role::Member => "a",
        Role::Approver | Role::Operator | Role::Owner => "an",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{ApprovalId, RunId};

    fn verbs() -> Vec<(Verb, Role)> {
        let run = RunId("r".into());
        let approval = ApprovalId("a".into());
        vec![
            (Verb::On, Role::Operator),
            (Verb::Off, Role::Operator),
            (Verb::OffConfirm, Role::Operator),
            (Verb::OffCancel, Role::Operator),
            (Verb::AskForm, Role::Operator),
            (Verb::Ask { text: "x".into() }, Role::Operator),
            (Verb::Halt, Role::Operator),
            (Verb::Resume, Role::Operator),
            (Verb::Cancel { run: run.clone() }, Role::Operator),
            (Verb::Retry { run: run.clone() }, Role::Operator),
            (Verb::Approve { approval: approval.clone() }, Role::Approver),
            (Verb::Deny { approval }, Role::Approver),
            (Verb::Receipt { run }, Role::Approver),
            (Verb::Pair, Role::Member),
        ]
    }

    fn account(kind: AccountKind) -> Face {
        Face::Account(UserId(7), kind)
    }

    #[test]
    fn i_4_role_by_verb_by_face() {
        let roles = [None, Some(Role::Member), Some(Role::Approver), Some(Role::Operator), Some(Role::Owner)];
        for (verb, needed) in verbs() {
            for role in roles {
                let paired = Paired::With(Some(UserId(1)));
                let facts = |face| Facts { face, role, needed, paired };
                let human = judge(&verb, &facts(account(AccountKind::Human)));
                assert_eq!(human.is_ok(), role.is_some_and(|r| r >= needed), "{role:?} {verb:?}");
                if let Err(why) = human {
                    assert!(why.contains("<@1>") && why.ends_with('.'), "{why}");
                }
                assert_eq!(judge(&verb, &facts(Face::Machine)), Ok(Grant::As(Role::Owner)));
                for kind in [AccountKind::Bot, AccountKind::Webhook] {
                    assert!(judge(&verb, &facts(account(kind))).is_err(), "{kind:?} {role:?} {verb:?}");
                }
            }
        }
    }

    #[test]
    fn i_5_with_nobody_paired_only_pair_or_on_on_the_current_card_by_a_human() {
        for (verb, needed) in verbs() {
            for on_current_card in [false, true] {
                for kind in [AccountKind::Human, AccountKind::Bot, AccountKind::Webhook] {
                    let paired = Paired::Nobody { on_current_card };
                    let judged = judge(&verb, &Facts { face: account(kind), role: None, needed, paired });
                    let owner = matches!(verb, Verb::Pair | Verb::On) && on_current_card && kind == AccountKind::Human;
                    assert_eq!(judged.is_ok(), owner, "{verb:?} {on_current_card} {kind:?}");
                    if owner {
                        assert_eq!(judged, Ok(Grant::NewOwner));
                    }
                }
            }
            let pinned = Facts { face: account(AccountKind::Human), role: None, needed, paired: Paired::Pinned };
            assert!(judge(&verb, &pinned).is_err(), "{verb:?}");
        }
    }
}
