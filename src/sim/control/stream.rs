//! Server-sent events for a page: each is rendered for its viewer when it is sent.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::super::core::{Core, Told};
use super::view::{Viewer, modal};
use crate::base::ids::UserId;

/// How often a quiet stream says that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Listener {
    core: Arc<Core>,
    who: UserId,
    told: Receiver<Told>,
    greeted: bool,
}

/// The stream of one viewer.
pub fn events(core: Arc<Core>, who: UserId) -> Response<Body> {
    let told = core.pages.subscribe();
    let listener = Listener { core, who, told, greeted: false };
    let stream = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(event.to_string())), listener))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

impl Listener {
    async fn next(&mut self) -> Option<Value> {
        if !self.greeted {
            self.greeted = true;
            return Some(json!({"type": "hello"}));
        }
        let core = self.core.clone();
        loop {
            let told = tokio::select! {
                () = core.stop.wait() => return None,
                told = self.told.recv() => told,
            };
            match told {
                Ok(told) => {
                    if let Some(event) = render(&core, self.who, &told) {
                        return Some(event);
                    }
                }
                Err(RecvError::Lagged(_)) => return Some(json!({"type": "reset"})),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// An event as somebody sees it; `None` where it is not theirs.
fn render(core: &Core, who: UserId, told: &Told) -> Option<Value> {
    core.with(|state, now| {
        let viewer = Viewer { show: core.show(&state.world, now), who };
        let world = &state.world;
        let place = |id| world.channels.get(id).filter(|c| world.sees(who, c));
        match told {
            Told::Message(channel, id) | Told::Changed(channel, id) => {
                let message = world.message(*channel, *id).filter(|m| viewer.sees(m))?;
                let kind = if matches!(told, Told::Message(..)) { "message" } else { "message_update" };
                Some(json!({"type": kind, "message": viewer.message(message)}))
            }
            Told::Deleted(channel, ids, only_for) => {
                place(channel)?;
                let mine = only_for.is_none_or(|u| u == who);
                mine.then(|| json!({"type": "message_delete", "channel_id": channel, "message_ids": ids}))
            }
            Told::Channel(id) => Some(json!({"type": "channel", "channel": viewer.channel(place(id)?)})),
            Told::Typing(channel, user) => {
                place(channel)?;
                let name = world.person(*user)?.name.clone();
                Some(json!({"type": "typing", "channel_id": channel, "user_id": user, "name": name}))
            }
            Told::Interaction(user, id, answered) => (*user == who).then(|| {
                let (state, error) = if *answered {
                    ("answered", Value::Null)
                } else {
                    ("failed", "The application did not respond.".into())
                };
                json!({"type": "interaction", "interaction_id": id, "state": state, "error": error})
            }),
            Told::Modal(user, id) => {
                let call = state.calls.get(*id).filter(|_| *user == who)?;
                let form = modal(call.modal.as_ref()?);
                Some(json!({"type": "modal", "interaction_id": id, "custom_id": form.custom_id, "title": form.title,
                    "components": form.components}))
            }
            Told::Bot(online) => Some(json!({"type": "bot", "online": online})),
        }
    })
}
