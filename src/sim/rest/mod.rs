//! REST v10: every request goes through faults, identity, rate limits and its operation, in this order.

mod answers;
pub mod body;
mod looks;
mod messages;
mod places;
pub mod route;

pub use looks::{application_flags, me};
pub use places::dm_with;

use std::sync::Arc;

use axum::body::Body as HttpBody;
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::buckets::Verdict;
use super::core::Core;
use super::faults::{Do, Scope};
use super::rules::{Refusal, user_agent_fits};
use super::truth::{Entry, Line};
use super::wire::Cut;
use crate::base::clock::Millis;
use route::{NoRoute, Op, Route};

/// What an operation gives: status and body; no body with 204.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON body.
    pub body: Option<Value>,
}

impl Answer {
    /// 200 with a body.
    pub fn ok(body: Value) -> Self {
        Self { status: 200, body: Some(body) }
    }

    /// 204.
    pub fn nothing() -> Self {
        Self { status: 204, body: None }
    }
}

/// What an operation can say.
pub type Outcome = Result<Answer, Refusal>;

/// An answer on its way, with the headers it needs.
struct Reply {
    answer: Answer,
    verdict: Option<Verdict>,
    scope: Option<(Scope, f64)>,
    violation: Option<String>,
}

impl Reply {
    fn refused(refusal: Refusal) -> Self {
        let answer = Answer { status: refusal.status, body: Some(refusal.body()) };
        Self { answer, verdict: None, scope: None, violation: refusal.violation }
    }

    fn limited(scope: Scope, retry_after: f64) -> Self {
        let body = json!({
            "message": if scope == Scope::Shared { "The resource is being rate limited." } else { "You are being rate limited." },
            "retry_after": retry_after, "global": scope == Scope::Global,
        });
        let answer = Answer { status: 429, body: Some(body) };
        Self { answer, verdict: None, scope: Some((scope, retry_after)), violation: None }
    }
}

/// Serves one request.
pub async fn serve(
    Shared(core): Shared<Arc<Core>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    request: Request,
) -> Response<HttpBody> {
    let method = request.method().as_str().to_owned();
    let full = request.uri().path().to_owned();
    let path = full.strip_prefix("/api/v10").or_else(|| full.strip_prefix("/api/v9")).map(str::to_owned);
    let known = bearer(request.headers()) == Some(core.with(|s, _| s.world.meta.bot_token.clone()).as_str());
    let fault = path.as_deref().and_then(|p| core.with(|s, _| s.faults.hit(false, &method, p)));
    let early = match &fault {
        Some(Do::Status { effect: true, .. } | Do::Reset { effect: true } | Do::Stall { .. }) | None => None,
        Some(other) => Some(other.clone()),
    };
    let mut reply = match (early, &path) {
        (Some(_), _) => None,
        (None, None) => Some(Reply::refused(Refusal::no_route(&method, &full))),
        (None, Some(path)) => Some(handle(&core, path, known, request).await),
    };
    if let Some(Do::Stall { ms }) = fault {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
    }
    if core.settle().await.is_err() {
        reply = Some(Reply::refused(Refusal::new(500, 0, "500: Internal Server Error")));
    }
    let violation = reply.as_ref().and_then(|r| r.violation.clone());
    let response = match fault {
        Some(Do::Stall { .. }) | None => reply.map(|r| respond(r, core.now())),
        Some(fault) => faulty(&fault, &cut, core.now()),
    };
    let response = response.unwrap_or_default();
    core.with(|state, now| {
        state.truth.counters.requests += 1;
        if let Some(what) = violation {
            state.truth.violation(now, &what, &method, &full);
        }
        let bot = known.then(|| state.world.meta.bot.to_string());
        let (status, summary) = (response.status().as_u16(), String::new());
        let path = path.unwrap_or(full);
        state.truth.log(Entry { n: 0, at_ms: now.0, kind: Line::Request, method, path, status, bot, summary });
    });
    response
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bot ")
}

async fn handle(core: &Arc<Core>, path: &str, known: bool, request: Request) -> Reply {
    let agent = request.headers().get(header::USER_AGENT).and_then(|v| v.to_str().ok());
    if !user_agent_fits(agent) {
        return Reply::refused(
            Refusal::new(403, 40_333, "internal network error").violating("The User-Agent breaks Discord's rule."),
        );
    }
    let route = match route::find(request.method(), path) {
        Ok(route) => route,
        Err(NoRoute::Unknown) => return Reply::refused(Refusal::no_route(request.method().as_str(), path)),
        Err(NoRoute::Id(text)) => {
            let refusal = Refusal::field("id", "NUMBER_TYPE_COERCE", &format!("Value {text:?} is not snowflake."));
            return Reply::refused(refusal);
        }
    };
    let named = request.headers().contains_key(header::AUTHORIZATION);
    if !known && (named || !route.free) {
        return Reply::refused(Refusal::unauthorized());
    }
    let mut verdict = core.with(|s, now| s.buckets.take(route.bucket, &route.major, !route.free, now));
    if let Some((wait, global)) = verdict.refused {
        let scope = if global { Scope::Global } else { Scope::User };
        let mut reply = Reply::limited(scope, wait as f64 / 1000.0);
        verdict.remaining = 0;
        reply.verdict = Some(verdict);
        return reply;
    }
    let query = route::query(request.uri().query());
    if let Some((key, _)) = query.iter().find(|(k, _)| !route.query.contains(&k.as_str())) {
        let refusal = Refusal::field(key, "UNKNOWN_FIELD", "The simulator does not know this query field.");
        return Reply { verdict: Some(verdict), ..Reply::refused(refusal) };
    }
    let outcome = match body::read(core, request).await {
        Ok(body) => carry_out(core, route, &query, body).await,
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(answer) => Reply { answer, verdict: Some(verdict), scope: None, violation: None },
        Err(refusal) => Reply { verdict: Some(verdict), ..Reply::refused(refusal) },
    }
}

async fn carry_out(core: &Arc<Core>, route: Route, query: &[(String, String)], body: body::Body) -> Outcome {
    let get = |key: &str| query.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    let outcome = match &route.op {
        Op::Create(channel) => messages::create(core, *channel, &body),
        Op::Edit(channel, message) => messages::edit(core, *channel, *message, &body),
        Op::Callback(id, token) => answers::callback(core, *id, token, get("with_response") == Some("true"), &body),
        Op::EditOriginal(app, token) => answers::edit_original(core, *app, token, &body),
        Op::FollowUp(app, token) => answers::follow_up(core, *app, token, &body),
        _ if !body.parts.is_empty() => Err(Refusal::field("files", "UNKNOWN_FIELD", "Files are not taken here.")),
        Op::List(channel) => messages::list(core, *channel, query),
        Op::Get(channel, message) => messages::get(core, *channel, *message),
        Op::Delete(channel, message) => messages::delete(core, *channel, *message),
        Op::React(channel, message, emoji) => messages::react(core, *channel, *message, emoji),
        Op::GetOriginal(app, token) => answers::get_original(core, *app, token),
        Op::DeleteOriginal(app, token) => answers::delete_original(core, *app, token),
        Op::OpenDm => places::open_dm(core, &body.json),
        Op::ChangeChannel(channel) => places::change(core, *channel, &body.json),
        Op::Typing(channel) => places::typing(core, *channel),
        Op::Thread(channel, message) => places::thread(core, *channel, *message, &body.json),
        other => looks::look(core, other),
    };
    if outcome.is_err() {
        body.discard(core).await;
    }
    outcome
}

/// Discord's `Date` header.
pub fn http_date(now: Millis) -> String {
    let time = chrono::DateTime::from_timestamp_millis(now.0).unwrap_or_default();
    time.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn respond(reply: Reply, now: Millis) -> Response<HttpBody> {
    let body = reply.answer.body.as_ref().map(Value::to_string);
    let mut response = plain(reply.answer.status, body.map(|b| ("application/json", b)), now);
    let headers = response.headers_mut();
    if let Some(verdict) = &reply.verdict {
        put(headers, "x-ratelimit-limit", &verdict.size.limit.to_string());
        put(headers, "x-ratelimit-remaining", &verdict.remaining.to_string());
        put(headers, "x-ratelimit-reset", &format!("{:.3}", verdict.reset.0 as f64 / 1000.0));
        put(headers, "x-ratelimit-reset-after", &format!("{:.3}", verdict.reset.since(now).as_secs_f64()));
        put(headers, "x-ratelimit-bucket", &verdict.bucket);
    }
    if let Some((scope, wait)) = reply.scope {
        let (name, global) = match scope {
            Scope::User => ("user", false),
            Scope::Global => ("global", true),
            Scope::Shared => ("shared", false),
        };
        put(headers, "x-ratelimit-scope", name);
        put(headers, "retry-after", &format!("{}", wait.ceil()));
        if global {
            put(headers, "x-ratelimit-global", "true");
        }
    }
    response
}

/// An answer with the headers that every answer of Discord has.
pub fn plain(status: u16, body: Option<(&str, String)>, now: Millis) -> Response<HttpBody> {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    put(response.headers_mut(), "date", &http_date(now));
    put(response.headers_mut(), "via", "1.1 google");
    put(response.headers_mut(), "server", "cloudflare");
    if let Some((kind, body)) = body {
        put(response.headers_mut(), "content-type", kind);
        *response.body_mut() = HttpBody::from(body);
    }
    response
}

/// The answer that a fault gives. `None` where there is none to give.
fn faulty(fault: &Do, cut: &Cut, now: Millis) -> Option<Response<HttpBody>> {
    Some(match fault {
        Do::RateLimit { scope, retry_after } => respond(Reply::limited(*scope, *retry_after), now),
        Do::Status { status, .. } => {
            let page = format!("<html><head><title>{status}</title></head><body>cloudflare</body></html>");
            plain(*status, Some(("text/html", page)), now)
        }
        Do::Body { status, text } => plain(*status, Some(("application/json", text.clone())), now),
        Do::Error { status, code, message } => respond(Reply::refused(Refusal::new(*status, *code, message)), now),
        Do::Reset { .. } | Do::Cut { .. } => {
            cut.cut();
            return None;
        }
        Do::Stall { .. } | Do::Flip => return None,
    })
}
