//! Outbox: says each recorded fact once. Before a send that may have happened already is repeated, the channel is
//! read back for the row's mark (I-12).

use super::cards::receipt;
use super::find::{Sight, own_since};
use super::hands::{Hands, Took, message_gone, took};
use crate::base::ids::{ChannelId, MessageId};
use crate::base::split;
use crate::discord::Nonce;
use crate::discord::error::{DiscordError, ErrorKind, Retry};
use crate::ledger::outbox::{self, Said, Saying, Target};
use crate::ledger::{Result, views};
use crate::model::card::{Block, Body, Post};
use crate::model::message::Message;

/// Code points of a text that leave room for its mark.
const PART: usize = crate::model::receipt::PART;

/// Messages that one row may become: nonce and mark count them with one digit.
const PARTS: usize = 9;

/// Says a row, or notes why not.
pub(super) async fn serve(hands: &Hands, saying: Saying) -> Result<Took> {
    let channel = match (&saying.target, saying.channel) {
        (Target::Dm(user), _) => match hands.discord.dm(*user).await {
            Ok(channel) => channel,
            Err(error) => return trouble(hands, &saying, &error, saying.begun).await,
        },
        (_, Some(channel)) => channel,
        (_, None) => return Ok(Took::Nothing),
    };
    let Some(posts) = render(hands, &saying).await? else {
        return close(hands, &saying, false, "What it tells of is not in the ledger.".to_owned()).await;
    };
    let mut said = Vec::new();
    if saying.begun {
        match look_back(hands, &saying, channel, posts.len()).await {
            Ok(Back::Found(messages)) => said = messages,
            Ok(Back::Unclear(why)) => return close(hands, &saying, true, why.to_owned()).await,
            Err(error) if matches!(error.kind, ErrorKind::NoAccess | ErrorKind::NoPermission) => {
                return close(hands, &saying, true, error.message).await;
            }
            Err(error) => return trouble(hands, &saying, &error, true).await,
        }
    } else {
        let id = saying.id;
        hands.ledger.write("outbox-sending", move |tx| outbox::sending(tx, id, channel)).await?;
    }
    for (n, post) in posts.iter().enumerate().skip(said.len()) {
        match hands.discord.send(channel, post, &nonce(&saying, n)).await {
            Ok(message) => said.push(message.id),
            // It was said, and somebody deleted it since: the nonce is known, the message is not.
            Err(error) if message_gone(&error) && error.code.is_some() => {}
            Err(error) => return trouble(hands, &saying, &error, n > 0).await,
        }
    }
    let (first, now) = (said.first().copied(), hands.clock.now());
    let Some(first) = first else {
        return close(hands, &saying, false, "It was deleted as soon as it was said.".to_owned()).await;
    };
    hands.ledger.write("outbox-sent", move |tx| outbox::sent(tx, &saying, channel, first, now)).await?;
    Ok(Took::Nothing)
}

/// The messages that a row becomes, each with its mark. `None` where its subject is gone.
async fn render(hands: &Hands, saying: &Saying) -> Result<Option<Vec<Post>>> {
    let bodies = match &saying.said {
        Said::Receipt(run) => {
            let run = run.clone();
            let Some(view) = hands.ledger.read(move |read| views::receipt_view(read, &run)).await? else {
                return Ok(None);
            };
            receipt::bodies(&view)
        }
        Said::Starter(_) | Said::Reply | Said::Notice => parts(&saying.post.body),
    };
    let post = |(n, body): (usize, Body)| Post {
        body: marked(body, &mark(saying, n)),
        reply_to: saying.post.reply_to.filter(|_| n == 0),
        pings: if n == 0 { saying.post.pings.clone() } else { Vec::new() },
    };
    Ok(Some(bodies.into_iter().enumerate().map(post).collect()))
}

fn parts(body: &Body) -> Vec<Body> {
    match body {
        Body::Card(card) => vec![Body::Card(card.clone())],
        Body::Text(text) if text.chars().count() <= PART => vec![Body::Text(text.clone())],
        Body::Text(text) => split::split(text, PART).into_iter().take(PARTS).map(Body::Text).collect(),
    }
}

/// The visible mark of a row's message. Part of the nonce is in it, so that a ledger that begins anew is not deceived
/// by the marks of an older one.
fn mark(saying: &Saying, n: usize) -> String {
    let tag: String = saying.nonce.chars().skip(1).take(4).collect();
    let part = if n == 0 { String::new() } else { format!(".{}", n + 1) };
    format!("-# · r{}-{tag}{part}", saying.id.0)
}

fn nonce(saying: &Saying, n: usize) -> Nonce {
    Nonce(if n == 0 { saying.nonce.clone() } else { format!("{}.{}", saying.nonce, n + 1) })
}

fn marked(body: Body, mark: &str) -> Body {
    match body {
        Body::Text(text) => Body::Text(format!("{text}\n{mark}")),
        Body::Card(mut card) => {
            card.blocks.push(Block::Text(mark.to_owned()));
            Body::Card(card)
        }
    }
}

fn bears(message: &Message, mark: &str) -> bool {
    // The end of a message alone is ours: an answer that stands above it may end in something that looks like a mark.
    let last = message.component_text.last().unwrap_or(&message.content);
    last.lines().next_back().is_some_and(|line| line.trim() == mark)
}

enum Back {
    /// Messages of the row's first parts that are there.
    Found(Vec<MessageId>),
    Unclear(&'static str),
}

async fn look_back(
    hands: &Hands,
    saying: &Saying,
    channel: ChannelId,
    parts: usize,
) -> std::result::Result<Back, DiscordError> {
    let age = hands.clock.now().since(saying.at);
    Ok(match own_since(hands, channel, age).await? {
        Sight::Unclear(why) => Back::Unclear(why),
        Sight::All(messages) => {
            let part = |n| messages.iter().find(|m| bears(m, &mark(saying, n))).map(|m| m.id);
            Back::Found((0..parts).map_while(part).collect())
        }
    })
}

/// Whether Discord certainly did not carry a send out.
fn certainly_not(kind: ErrorKind) -> bool {
    !matches!(kind, ErrorKind::Unreachable | ErrorKind::Unknown | ErrorKind::Server | ErrorKind::Protocol)
}

async fn trouble(hands: &Hands, saying: &Saying, error: &DiscordError, begun: bool) -> Result<Took> {
    let begun = begun || !certainly_not(error.kind);
    // A wrong token or a block says nothing about the row.
    let lasting = matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::Blocked);
    if certainly_not(error.kind) && !lasting && error.retry() == Retry::Never {
        return close(hands, saying, false, error.message.clone()).await;
    }
    let wait = hands.wait(error, saying.tries);
    let (id, at, why) = (saying.id, hands.at(wait), error.message.clone());
    tracing::warn!("message r{} waits {} s: {why}", id.0, wait.as_secs());
    hands.ledger.write("outbox-put-off", move |tx| outbox::put_off(tx, id, begun, at, &why)).await?;
    Ok(took(error, wait))
}

/// Ends a row that is not sent: held where it may have been, else failed.
async fn close(hands: &Hands, saying: &Saying, held: bool, why: String) -> Result<Took> {
    let id = saying.id;
    tracing::warn!("message r{} is {}: {why}", id.0, if held { "held" } else { "not sent" });
    let end = move |tx: &crate::ledger::Write<'_>| {
        if held { outbox::held(tx, id, &why) } else { outbox::failed(tx, id, &why) }
    };
    hands.ledger.write("outbox-closed", end).await?;
    Ok(Took::Nothing)
}
