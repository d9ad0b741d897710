//! What all listeners share: the state behind one lock, the clock, the store, and what the page is told.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast;

use super::buckets::Buckets;
use super::calls::Calls;
use super::faults::Faults;
use super::hub::Hub;
use super::show::Show;
use super::sign::Signer;
use super::store::Store;
use super::truth::Truth;
use super::world::World;
use crate::base::clock::{Clock, Millis};
use crate::base::entropy::Entropy;
use crate::base::failure::Failure;
use crate::base::ids::{ChannelId, InteractionId, MessageId, UserId};
use crate::base::stop::Stop;

/// Events that wait for a slow page; past these it is told to look again at everything.
const PAGE_EVENTS: usize = 1024;

/// All that changes.
#[derive(Debug)]
pub struct State {
    /// People, channels, messages.
    pub world: World,
    /// Gateway.
    pub hub: Hub,
    /// Interactions.
    pub calls: Calls,
    /// Rate limits.
    pub buckets: Buckets,
    /// Fault rules.
    pub faults: Faults,
    /// Log, violations, counters.
    pub truth: Truth,
    /// Whether the bot was shown online last.
    pub online: bool,
}

/// What a page is told; rendered for each viewer when it is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A new message.
    Message(ChannelId, MessageId),
    /// A changed message.
    Changed(ChannelId, MessageId),
    /// Messages that are gone; the person is set for a private one.
    Deleted(ChannelId, Vec<MessageId>, Option<UserId>),
    /// A channel as it is now.
    Channel(ChannelId),
    /// Somebody types.
    Typing(ChannelId, UserId),
    /// What became of a press.
    Interaction(UserId, InteractionId, bool),
    /// The bot answered a press with a form.
    Modal(UserId, InteractionId),
    /// The bot came or went.
    Bot(bool),
}

/// How it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Largest file, in bytes.
    pub upload_limit: u64,
    /// `heartbeat_interval`, in ms.
    pub heartbeat_ms: u64,
    /// Whether the Message Content Intent is switched on.
    pub message_content: bool,
}

/// Shared by all listeners.
pub struct Core {
    clock: Arc<dyn Clock>,
    skew: AtomicI64,
    /// Randomness, seeded in tests.
    pub entropy: Arc<Entropy>,
    state: Mutex<State>,
    /// Where the world is kept.
    pub store: Store,
    /// Tells the pages.
    pub pages: broadcast::Sender<Told>,
    /// How it was started.
    pub settings: Settings,
    /// Signs links.
    pub signer: Signer,
    /// Base of the API listener, such as `127.0.0.1:PORT`.
    pub api_host: String,
    /// Base of the control listener.
    pub control_host: String,
    /// Token of the control listener.
    pub control_token: String,
    /// Told when it ends.
    pub stop: Stop,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("api", &self.api_host).finish_non_exhaustive()
    }
}

/// Parts of a [`Core`].
pub struct Parts {
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<Entropy>,
    /// World.
    pub world: World,
    /// Where it is kept.
    pub store: Store,
    /// How it was started.
    pub settings: Settings,
    /// Host and port of API, CDN and control.
    pub hosts: [String; 3],
    /// Told when it ends.
    pub stop: Stop,
}

impl Core {
    /// Puts it together.
    pub fn new(parts: Parts) -> Self {
        let [api_host, cdn_host, control_host] = parts.hosts;
        let meta = &parts.world.meta;
        let signer = Signer::new(&meta.signing_key, &format!("http://{cdn_host}"));
        let control_token = meta.control_token.clone();
        let state = State {
            world: parts.world,
            hub: Hub::default(),
            calls: Calls::default(),
            buckets: Buckets::default(),
            faults: Faults::default(),
            truth: Truth::default(),
            online: false,
        };
        Self {
            clock: parts.clock,
            skew: AtomicI64::new(0),
            entropy: parts.entropy,
            state: Mutex::new(state),
            store: parts.store,
            pages: broadcast::channel(PAGE_EVENTS).0,
            settings: parts.settings,
            signer,
            api_host,
            control_host,
            control_token,
            stop: parts.stop,
        }
    }

    /// Now, by the simulator's own clock.
    pub fn now(&self) -> Millis {
        Millis(self.clock.now().0 + self.skew.load(Ordering::SeqCst))
    }

    /// Moves the simulator's clock on.
    pub fn advance(&self, ms: i64) -> Millis {
        self.skew.fetch_add(ms, Ordering::SeqCst);
        self.now()
    }

    /// Does something to the state. What it changes in the world is queued for the journal in the same order.
    pub fn with<R>(&self, work: impl FnOnce(&mut State, Millis) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let out = work(&mut state, self.now());
        let records = state.world.take_pending();
        self.store.append(&records);
        let online = state.hub.online();
        if online != state.online {
            state.online = online;
            self.tell(Told::Bot(online));
        }
        out
    }

    /// Waits until every change so far is durable.
    pub async fn settle(&self) -> Result<(), Failure> {
        self.store.settle().await
    }

    /// Tells the pages. Nobody listening is no error.
    pub fn tell(&self, what: Told) {
        drop(self.pages.send(what));
    }

    /// Shows the world now.
    pub fn show<'a>(&'a self, world: &'a World, now: Millis) -> Show<'a> {
        Show { world, signer: &self.signer, now }
    }

    /// A new id.
    pub fn id(&self) -> u64 {
        self.with(|state, now| state.world.id(now))
    }

    /// Marks interactions whose time ran out, and forgets old sessions. Called often.
    pub fn sweep(&self) {
        self.with(|state, now| {
            state.hub.sweep(now);
            for call in state.calls.sweep(now) {
                self.tell(Told::Interaction(call.user, call.id, false));
            }
        });
    }

    /// Sweeps until it ends. 50 ms is well under the 3 s that it has to see.
    pub async fn keep_sweeping(self: Arc<Self>) {
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        loop {
            tokio::select! {
                () = self.stop.wait() => return,
                _ = tick.tick() => self.sweep(),
            }
        }
    }

    /// A random value for tokens, in hexadecimal.
    pub fn token(&self) -> String {
        self.entropy.hex::<20>()
    }
}

/// A value as an object that can be added to.
pub fn extend(value: &mut Value, key: &str, with: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), with);
    }
}
