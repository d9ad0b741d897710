//! One call: passes the door, is sent, is judged, and is sent again where that is safe.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::{RequestBuilder, Url};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::super::error::{DiscordError, ErrorKind};
use super::Rest;
use super::buckets::{Back, Seen};
use super::gate::Permit;
use super::refusal::{self, Refused};
use super::retry::{self, Failed, Next, Repeat, Tries};
use super::route::Route;
use super::upload::{self, Files, Tally};

/// Bytes of an answer that are read: a page of 100 messages stays far below.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// 429s that one call sits out, so that many tiny waits do not go on for ever.
const MOST_LIMITED: u32 = 8;

/// What goes out with a call.
pub(super) enum Payload<'a> {
    /// Nothing.
    Empty,
    /// A JSON body.
    Json(Value),
    /// A JSON body and files.
    Files(Files<'a>),
}

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    /// The bot's: with its token, within its limits.
    Bot,
    /// An interaction's: the token in the path is proof enough, and the limits do not count (facts.md section 9).
    Interaction,
}

/// One call.
pub(super) struct Call<'a> {
    /// What is tried, as in «sending the message».
    pub(super) what: &'static str,
    /// Where.
    pub(super) route: Route,
    /// What goes along.
    pub(super) payload: Payload<'a>,
    /// Whether it may be sent again.
    pub(super) repeat: Repeat,
    /// Whose it is.
    pub(super) face: Face,
}

/// An answer that came.
pub(super) struct Answer {
    /// HTTP status.
    pub(super) status: u16,
    /// Headers.
    pub(super) headers: HeaderMap,
    /// Body.
    pub(super) body: Vec<u8>,
}

impl Answer {
    fn refused(&self) -> Refused<'_> {
        Refused { status: self.status, headers: &self.headers, body: &self.body }
    }
}

/// Why no answer came.
pub(super) struct Broken {
    /// Whether the request may have been carried out.
    pub(super) failed: Failed,
    /// Cause, for the sentence.
    pub(super) why: String,
}

/// How an attempt ended, and what that means.
enum Verdict {
    Done(Answer),
    Refused(DiscordError),
    Limited(DiscordError),
    Failed(Failed, DiscordError),
}

impl Rest {
    /// Carries a call out.
    ///
    /// # Errors
    /// Discord's refusal, or what became of a call without an answer (`Unknown` where it may have been carried out).
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Answer, DiscordError> {
        let url = call.route.url(&self.base);
        let mut tries = Tries { repeat: call.repeat, failed: 0, since_effect: None, took: Duration::ZERO };
        let mut effect_at: Option<Duration> = None;
        let (mut waited, mut limited) = (Duration::ZERO, 0);
        loop {
            let permit = match call.face {
                Face::Bot => Some(self.door.enter(&call.route, &mut waited).await.map_err(|e| unsure(e, effect_at))?),
                Face::Interaction => self.door.check().map(|()| None)?,
            };
            let start = self.clock.steady();
            let tally = Tally::shared(self.clock.clone());
            let attempt = self.attempt(&call, &url, &tally).await;
            if let Some(error) = tally.fault() {
                return Err(unsure(error, effect_at));
            }
            let (failed, error) = match self.judge(&call, attempt, permit) {
                Verdict::Done(answer) => return Ok(answer),
                Verdict::Refused(error) => return Err(unsure(error, effect_at)),
                Verdict::Limited(error) => {
                    limited += 1;
                    let too_long = error.after.is_some_and(|after| waited + after > self.timing.patience);
                    if too_long || limited > MOST_LIMITED || call.repeat == Repeat::Never {
                        return Err(unsure(error, effect_at));
                    }
                    continue;
                }
                Verdict::Failed(failed, error) => (failed, error),
            };
            let now = self.clock.steady();
            let failed = match (&call.payload, tally.complete_at()) {
                // Files that were not all sent cannot have made a message.
                (Payload::Files(_), None) => Failed::Unsent,
                (Payload::Files(_), Some(at)) => {
                    effect_at = effect_at.or(Some(at));
                    failed
                }
                _ if failed == Failed::Unsent => failed,
                _ => {
                    effect_at = effect_at.or(Some(start));
                    failed
                }
            };
            tries.failed += 1;
            tries.took = now.saturating_sub(start);
            tries.since_effect = effect_at.map(|at| now.saturating_sub(at));
            match retry::next(tries, failed) {
                Next::Again(longest) => sleep(longest.mul_f64(self.entropy.fraction())).await,
                Next::GiveUp(kind) => return Err(given_up(kind, call.what, error)),
            }
        }
    }

    async fn attempt(&self, call: &Call<'_>, url: &Url, tally: &std::sync::Arc<Tally>) -> Result<Answer, Broken> {
        let mut request = self.client.request(call.route.key.method.clone(), url.clone());
        let mut deadline = self.timing.deadline;
        match call.face {
            Face::Bot => request = request.header(AUTHORIZATION, self.authorization.clone()),
            Face::Interaction => deadline = self.timing.callback,
        }
        match &call.payload {
            Payload::Empty => within(deadline, exchange(request)).await,
            Payload::Json(json) => within(deadline, exchange(request.json(json))).await,
            Payload::Files(files) => {
                let form = upload::form(files, tally).await?;
                upload::watched(exchange(request.multipart(form)), files, tally, self.timing.idle).await
            }
        }
    }

    fn judge(&self, call: &Call<'_>, attempt: Result<Answer, Broken>, permit: Option<Permit<'_>>) -> Verdict {
        let answer = match attempt {
            Ok(answer) => answer,
            Err(broken) => {
                let said = format!("No answer came while {}: {}.", call.what, broken.why);
                return Verdict::Failed(broken.failed, DiscordError::new(ErrorKind::Unreachable, said));
            }
        };
        let back = learnt(&answer);
        if (200..300).contains(&answer.status) {
            if let Some(permit) = permit {
                permit.back(if back == Back::Nothing { Back::Free } else { back });
            }
            return Verdict::Done(answer);
        }
        let error = refusal::error(call.what, answer.refused());
        let scope = refusal::scope(answer.refused());
        let waits = error.kind == ErrorKind::RateLimited && answer.status == 429;
        if matches!(answer.status, 401 | 403 | 429) && !(waits && scope == super::buckets::Scope::Shared) {
            self.door.count_refusal();
        }
        match (permit, error.after) {
            (Some(permit), Some(after)) if waits => permit.limited(scope, after, back),
            (Some(permit), _) => permit.back(back),
            (None, _) => {}
        }
        match error.kind {
            ErrorKind::Unauthorized if call.face == Face::Bot => self.door.close(),
            ErrorKind::Blocked => self.door.block(error.after.unwrap_or_default()),
            _ => {}
        }
        match error.kind {
            ErrorKind::Server => Verdict::Failed(Failed::Server, error),
            ErrorKind::RateLimited if waits => Verdict::Limited(error),
            _ => Verdict::Refused(error),
        }
    }
}

/// A refusal to try again now does not say what became of an earlier attempt.
fn unsure(error: DiscordError, effect_at: Option<Duration>) -> DiscordError {
    let waits = matches!(error.kind, ErrorKind::RateLimited | ErrorKind::Blocked | ErrorKind::File);
    match effect_at {
        Some(_) if waits => DiscordError { kind: ErrorKind::Unknown, ..error },
        _ => error,
    }
}

fn given_up(kind: ErrorKind, what: &str, error: DiscordError) -> DiscordError {
    let message = match kind {
        ErrorKind::Unknown => format!("It is not known whether {what} worked. {}", error.message),
        _ => error.message,
    };
    DiscordError { kind, message, ..error }
}

fn learnt(answer: &Answer) -> Back {
    let text = |name: &str| answer.headers.get(name).and_then(|v| v.to_str().ok());
    let number = |name: &str| text(name).and_then(|t| t.trim().parse().ok());
    let after = text("x-ratelimit-reset-after").and_then(|t| t.trim().parse().ok()).and_then(refusal::seconds);
    match (text("x-ratelimit-bucket"), number("x-ratelimit-limit"), number("x-ratelimit-remaining"), after) {
        (Some(bucket), Some(limit), Some(remaining), Some(reset_after)) => {
            Back::Headers(Seen { bucket: bucket.to_owned(), limit, remaining, reset_after })
        }
        _ => Back::Nothing,
    }
}

async fn within(deadline: Duration, work: impl Future<Output = Result<Answer, Broken>>) -> Result<Answer, Broken> {
    timeout(deadline, work).await.unwrap_or_else(|_| {
        let why = format!("nothing was heard for {}", crate::base::text::span(deadline));
        Err(Broken { failed: Failed::Unanswered, why })
    })
}

async fn exchange(request: RequestBuilder) -> Result<Answer, Broken> {
    let mut response = request.send().await.map_err(broken)?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > LARGEST_ANSWER {
            let why = format!("the answer was longer than {}", crate::base::text::size(LARGEST_ANSWER as u64));
            return Err(Broken { failed: Failed::Unanswered, why });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body })
}

/// What a failure of the transport means. Its address is left out: it can hold an interaction's token.
pub(super) fn broken(error: reqwest::Error) -> Broken {
    let failed = if error.is_connect() || error.is_builder() { Failed::Unsent } else { Failed::Unanswered };
    let error = error.without_url();
    let mut why = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !why.contains(&cause_text) {
            why = format!("{why}: {cause_text}");
        }
        source = cause.source();
    }
    Broken { failed, why: crate::base::text::cut(why.trim_end_matches('.'), 300) }
}
