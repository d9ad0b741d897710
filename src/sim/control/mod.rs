//! The control API (docs/simulator.md): the page and the tests act as people through it. And the page itself.

pub mod act;
pub mod press;
mod stream;
mod upload;
pub mod view;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::core::{Core, State};
use super::faults::Rule;
use super::guard::Guard;
use super::hub::Order;
use super::page;
use super::rest::route::query;
use super::thing::Role;
use crate::base::clock::Millis;
use crate::base::ids::{InteractionId, UserId};
use view::Viewer;

/// Largest JSON body of a call: a message and a set of fault rules are far smaller.
const BODY: usize = 1 << 20;
/// Messages that a page holds, and holds where it says nothing.
const PAGE: usize = 100;

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    status: u16,
    what: String,
}

impl Refused {
    /// With a status and a sentence.
    pub fn new(status: u16, what: &str) -> Self {
        Self { status, what: what.to_owned() }
    }

    /// No such thing.
    pub fn gone(what: &str) -> Self {
        Self::new(404, what)
    }
}

/// Checks that somebody can be played: any person, and any bot but the host's.
pub fn player(state: &State, who: UserId) -> Result<(), Refused> {
    if who == state.world.meta.bot {
        return Err(Refused::new(403, "The host's bot speaks for itself."));
    }
    state.world.person(who).map(|_| ()).ok_or_else(|| Refused::gone("There is no such person."))
}

fn answer(status: u16, kind: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

fn json_answer(outcome: Result<Value, Refused>) -> Response<Body> {
    match outcome {
        Ok(body) => answer(200, "application/json", body.to_string()),
        Err(refused) => answer(refused.status, "application/json", json!({"error": refused.what}).to_string()),
    }
}

/// Serves one request.
pub async fn serve(Shared(core): Shared<Arc<Core>>, request: Request) -> Response<Body> {
    let guard = Guard { host: &core.control_host, token: &core.control_token };
    let headers = request.headers();
    if !guard.addressed(headers) {
        return answer(403, "text/plain", "This address serves its own page alone.");
    }
    let asked = query(request.uri().query());
    let path = request.uri().path().to_owned();
    let named = asked.iter().find(|(k, _)| k == "t").is_some_and(|(_, t)| guard.fits(t));
    if path == "/" && named {
        // Without the token in its address, the page cannot leak it by its history or a copied link.
        let mut response = answer(303, "text/plain", "");
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        if let Ok(cookie) = HeaderValue::from_str(&guard.cookie()) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        return response;
    }
    if !guard.knows(headers) {
        return answer(403, "text/plain", "Open the address that the simulator printed; it carries the key.");
    }
    if !path.starts_with("/control/") {
        return asset(&core, request.method(), &path);
    }
    match (request.method().as_str(), path.as_str()) {
        ("GET", "/control/events") => match viewer(&core, &asked) {
            Ok(who) => stream::events(core.clone(), who),
            Err(refused) => json_answer(Err(refused)),
        },
        ("POST", "/control/upload") => json_answer(settled(&core, upload::upload(&core, &asked, request).await).await),
        ("GET", _) => json_answer(look(&core, &path, &asked)),
        ("POST" | "DELETE", _) => {
            let method = request.method().clone();
            let Ok(bytes) = to_bytes(request.into_body(), BODY).await else {
                return json_answer(Err(Refused::new(400, "The body is too large or broken.")));
            };
            json_answer(settled(&core, act_on(&core, &method, &path, &bytes)).await)
        }
        _ => json_answer(Err(Refused::gone("There is no such call."))),
    }
}

/// An act is told only once it is on disk.
async fn settled(core: &Core, outcome: Result<Value, Refused>) -> Result<Value, Refused> {
    match core.settle().await {
        Ok(()) => outcome,
        Err(failure) => Err(Refused::new(500, &failure.message)),
    }
}

fn asset(core: &Core, method: &Method, path: &str) -> Response<Body> {
    if method != Method::GET {
        return answer(405, "text/plain", "");
    }
    let path = if path == "/" { "/index.html" } else { path };
    let Some((kind, bytes)) = page::asset(path) else { return answer(404, "text/plain", "There is no such page.") };
    let mut response = answer(200, kind, bytes);
    // Files come from the CDN's port only; scripts from here only; nobody may frame the page.
    let cdn = core.signer.base();
    let policy = format!(
        "default-src 'self'; img-src 'self' data: blob: {cdn}; media-src 'self' blob: {cdn}; connect-src 'self' {cdn}; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

type Asked = [(String, String)];

/// A query field, parsed.
pub fn asked<T: std::str::FromStr>(query: &Asked, key: &str) -> Result<Option<T>, Refused> {
    match query.iter().find(|(k, _)| k == key) {
        None => Ok(None),
        Some((_, text)) => text.parse().map(Some).map_err(|_| Refused::new(400, &format!("{key:?} is malformed."))),
    }
}

/// A query field that must be there.
pub fn needed<T: std::str::FromStr>(query: &Asked, key: &str) -> Result<T, Refused> {
    asked(query, key)?.ok_or_else(|| Refused::new(400, &format!("{key:?} is missing.")))
}

fn viewer(core: &Core, query: &Asked) -> Result<UserId, Refused> {
    let who = needed(query, "as")?;
    core.with(|state, _| player(state, who).map(|()| who))
}

fn owner(state: &State) -> Option<UserId> {
    state.world.meta.people.iter().find(|person| person.role == Role::Owner).map(|person| person.id)
}

fn to_json(value: impl serde::Serialize) -> Result<Value, Refused> {
    serde_json::to_value(value).map_err(|e| Refused::new(500, &format!("The answer cannot be written: {e}.")))
}

fn look(core: &Core, path: &str, query: &Asked) -> Result<Value, Refused> {
    match path {
        "/control/state" => {
            // A page that starts knows nobody yet: it sees with the owner's eyes.
            let who = match asked::<UserId>(query, "as")? {
                Some(_) => viewer(core, query)?,
                None => core.with(|state, _| owner(state)).ok_or_else(|| Refused::gone("Nobody owns this server."))?,
            };
            core.with(|state, now| to_json(Viewer { show: core.show(&state.world, now), who }.state(state)))
        }
        "/control/messages" => {
            let (who, channel) = (viewer(core, query)?, needed(query, "channel")?);
            let limit = asked(query, "limit")?.unwrap_or(PAGE).clamp(1, PAGE);
            let before = asked(query, "before")?;
            core.with(|state, now| {
                act::place(state, who, channel)?;
                to_json(Viewer { show: core.show(&state.world, now), who }.page(channel, before, limit))
            })
        }
        "/control/interaction" => {
            let id: InteractionId = needed(query, "id")?;
            core.with(|state, now| {
                let who = state
                    .calls
                    .get(id)
                    .map(|c| c.user)
                    .ok_or_else(|| Refused::gone("There is no such interaction."))?;
                to_json(Viewer { show: core.show(&state.world, now), who }.interaction(state, id))
            })
        }
        "/control/log" => {
            let since = asked(query, "since")?.unwrap_or(0);
            let (entries, next) = core.with(|state, _| state.truth.since(since));
            Ok(json!({"entries": to_json(entries)?, "next": next}))
        }
        "/control/violations" => {
            let violations = core.with(|state, _| state.truth.violations.clone());
            Ok(json!({"violations": to_json(violations)?}))
        }
        "/control/counters" => to_json(core.with(|state, _| state.truth.counters)),
        _ => Err(Refused::gone("There is no such call.")),
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(bytes).map_err(|e| Refused::new(400, &format!("The body is malformed: {e}.")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    rate_limits: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gateway {
    r#do: String,
    #[serde(default = "resumable_close")]
    code: u16,
    #[serde(default = "yes")]
    resumable: bool,
    #[serde(default = "half_a_minute")]
    for_ms: i64,
}

fn yes() -> bool {
    true
}

fn resumable_close() -> u16 {
    4000
}

fn half_a_minute() -> i64 {
    30_000
}

fn act_on(core: &Core, method: &Method, path: &str, bytes: &[u8]) -> Result<Value, Refused> {
    if method == Method::DELETE {
        return match path {
            "/control/faults" => {
                core.with(|state, _| state.faults.clear());
                Ok(json!({}))
            }
            _ => Err(Refused::gone("There is no such call.")),
        };
    }
    match path {
        "/control/say" => act::say(core, read(bytes)?),
        "/control/edit" => act::edit(core, read(bytes)?),
        "/control/delete" => act::delete(core, read(bytes)?),
        "/control/react" => act::react(core, read(bytes)?),
        "/control/tap" => press::tap(core, read(bytes)?),
        "/control/submit" => press::submit(core, read(bytes)?),
        "/control/channel" => act::channel(core, read(bytes)?),
        "/control/archive" => act::archive(core, read(bytes)?),
        "/control/permissions" => act::permissions(core, read(bytes)?),
        "/control/faults" => {
            let rules: Rules = read(bytes)?;
            let ids: Vec<u64> = core.with(|state, _| rules.rules.into_iter().map(|r| state.faults.add(r)).collect());
            Ok(json!({"ids": ids}))
        }
        "/control/gateway" => gateway(core, &read(bytes)?),
        "/control/clock" => {
            let advance: Advance = read(bytes)?;
            if advance.advance_ms < 0 {
                return Err(Refused::new(400, "Time does not go back."));
            }
            let now = core.advance(advance.advance_ms);
            core.sweep();
            Ok(json!({"now_ms": now}))
        }
        "/control/limits" => {
            let limits: Limits = read(bytes)?;
            core.with(|state, _| state.buckets.off = !limits.rate_limits);
            Ok(json!({}))
        }
        _ => Err(Refused::gone("There is no such call.")),
    }
}

fn gateway(core: &Core, act: &Gateway) -> Result<Value, Refused> {
    core.with(|state, now| {
        let until = Millis(now.0 + act.for_ms.max(0));
        let count = match act.r#do.as_str() {
            "drop" => state.hub.order(&Order::Drop),
            "close" => {
                // After these two the session is gone (facts.md section 2).
                if matches!(act.code, 4007 | 4009) {
                    state.hub.forget();
                }
                state.hub.order(&Order::Close(act.code))
            }
            "reconnect" => state.hub.order(&Order::Send(json!({"op": 7, "d": null, "s": null, "t": null}))),
            "invalid" => {
                if !act.resumable {
                    state.hub.forget();
                }
                state.hub.order(&Order::Send(json!({"op": 9, "d": act.resumable, "s": null, "t": null})))
            }
            "deaf" => {
                state.hub.deaf_until = until;
                state.hub.connections()
            }
            "silent" => {
                state.hub.silent_until = until;
                state.hub.connections()
            }
            "forget" => {
                state.hub.forget();
                state.hub.order(&Order::Drop)
            }
            _ => return Err(Refused::new(400, "\"do\" is drop, close, reconnect, invalid, deaf, silent or forget.")),
        };
        Ok(json!({"connections": count}))
    })
}
