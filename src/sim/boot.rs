//! Starting and ending a simulator: the world, three listeners, and what must outlive them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::task::JoinSet;

use super::core::{Core, Parts, Settings};
use super::store::{Store, Writer, process_start};
use super::thing::{Channel, Kind, Meta, Person, Role};
use super::wire::{Cut, Door};
use super::world::World;
use super::{Endpoints, Options, People, cdn, control, gateway, rest};
use crate::base::clock::{Clock, Millis};
use crate::base::entropy::Entropy;
use crate::base::failure::{Failure, LogAndGoOn};
use crate::base::ids::{ApplicationId, ChannelId, GuildId, UserId};
use crate::base::stop::Stop;

/// Discord's documented limit for a file since 2026-09, in bytes (facts.md section 5).
pub const UPLOAD_LIMIT: u64 = 20_971_520;
/// Discord's usual `heartbeat_interval`, in ms (facts.md section 2).
pub const HEARTBEAT_MS: u64 = 41_250;
/// How long open requests may take once it ends; a stalled one is a fault somebody ordered.
const END: Duration = Duration::from_secs(2);

/// A running simulator. Dropped without [`Sim::stop`], it ends less politely.
pub struct Sim {
    core: Arc<Core>,
    endpoints: Endpoints,
    tasks: JoinSet<()>,
    writer: JoinSet<()>,
}

impl std::fmt::Debug for Sim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sim").field("api", &self.endpoints.api_base).finish_non_exhaustive()
    }
}

impl Sim {
    /// Starts one. Fails with `AlreadyRunning` when another process owns the world.
    pub async fn start(options: Options, clock: Arc<dyn Clock>, entropy: Arc<Entropy>) -> Result<Self, Failure> {
        let entropy = options.seed.map_or(entropy, |seed| Arc::new(Entropy::seeded(seed)));
        let (world, store, writer) = open(&options, clock.now(), &entropy)?;
        let port = |e: std::io::Error| {
            Failure::failed(format!("The simulator cannot open a port: {e}.")).hint("Choose another port.")
        };
        let (api, api_addr) = Door::open(0).await.map_err(port)?;
        let (files, cdn_addr) = Door::open(0).await.map_err(port)?;
        let (page, control_addr) = Door::open(options.page_port).await.map_err(port)?;
        let hosts = [api_addr, cdn_addr, control_addr].map(|a| a.to_string());
        let endpoints = endpoints(&world.meta, &hosts);
        store.announce(&endpoints)?;
        let settings = Settings {
            upload_limit: options.upload_limit.unwrap_or(UPLOAD_LIMIT),
            heartbeat_ms: options.heartbeat_ms.unwrap_or(HEARTBEAT_MS),
            message_content: options.message_content.unwrap_or(true),
        };
        let stop = Stop::new();
        let core = Arc::new(Core::new(Parts { clock, entropy, world, store, settings, hosts, stop }));
        let mut tasks = JoinSet::new();
        let mut writing = JoinSet::new();
        if let Some(writer) = writer {
            writing.spawn_blocking(move || writer.run());
        }
        tasks.spawn(core.clone().keep_sweeping());
        let gateway = || any(gateway::connect);
        let api_routes = Router::new()
            .route("/gateway", gateway())
            .route("/gateway/", gateway())
            .route("/gateway/resume", gateway())
            .route("/gateway/resume/", gateway())
            .fallback(rest::serve);
        listen(&mut tasks, &core, api, api_routes);
        listen(&mut tasks, &core, files, Router::new().fallback(cdn::serve));
        listen(&mut tasks, &core, page, Router::new().fallback(control::serve));
        Ok(Self { core, endpoints, tasks, writer: writing })
    }

    /// Where it listens.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Ends it: connections are closed, the journal is written, `endpoint.json` and the lock are gone.
    pub async fn stop(mut self) {
        self.core.stop.stop();
        let drained = async {
            while let Some(done) = self.tasks.join_next().await {
                done.log_and_go_on("end the simulator");
            }
        };
        if tokio::time::timeout(END, drained).await.is_err() {
            self.tasks.abort_all();
            while self.tasks.join_next().await.is_some() {}
        }
        // The journal ends last: whoever was still answered has been promised that it is on disk.
        self.core.settle().await.log_and_go_on("write the world");
        self.core.store.end();
        while self.writer.join_next().await.is_some() {}
        self.core.store.close();
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.core.stop.stop();
        self.core.store.end();
        self.core.store.close();
    }
}

fn listen(tasks: &mut JoinSet<()>, core: &Arc<Core>, door: Door, routes: Router<Arc<Core>>) {
    let routes = routes.layer(DefaultBodyLimit::disable()).with_state(core.clone());
    let stop = core.stop.clone();
    tasks.spawn(async move {
        let service = routes.into_make_service_with_connect_info::<Cut>();
        let serving = axum::serve(door, service).with_graceful_shutdown(async move { stop.wait().await });
        serving.await.log_and_go_on("serve the simulator");
    });
}

fn open(options: &Options, now: Millis, entropy: &Entropy) -> Result<(World, Store, Option<Writer>), Failure> {
    let mut world = World::new(new_meta(now, entropy));
    let mut store = match &options.world {
        Some(folder) => Store::open(folder, |record| world.replay(record))?,
        None => Store::temporary(temporary_folder())?,
    };
    if world.channels.is_empty() {
        world.put_channel(Channel::new(world.meta.channel, Kind::Text, "host"));
    }
    let writer = store.begin(&world)?;
    // The compacted journal holds them already.
    drop(world.take_pending());
    Ok((world, store, writer))
}

/// Where the system keeps what may vanish. Not `TMPDIR`: only config reads the environment.
const TEMPORARY: &str = "/tmp";

/// A folder of its own for each world, never seeded: two worlds of one seed in one process would share it, and the
/// first to end would take the other's files away.
fn temporary_folder() -> PathBuf {
    PathBuf::from(TEMPORARY).join(format!("discord-os-sim-{}-{}", std::process::id(), Entropy::system().hex::<8>()))
}

fn new_meta(now: Millis, entropy: &Entropy) -> Meta {
    // Members were there before the channel: their ids are a day older, one step apart.
    let first = UserId::at(now.minus(Duration::from_secs(86_400))).0;
    let id = |n: u64| UserId(first + (n << 12));
    let person = |n: u64, name: &str, role: Role, color: &str| Person {
        id: id(n),
        name: name.to_owned(),
        role,
        color: color.to_owned(),
    };
    let bot = id(5);
    let people = vec![
        person(1, "Olive", Role::Owner, "#e0a030"),
        person(2, "Theo", Role::Teammate, "#3f8fd0"),
        person(3, "Sam", Role::Stranger, "#c05070"),
        person(4, "weather-bot", Role::Bot, "#6a8f5a"),
        person(5, "discord-os", Role::Bot, "#5865f2"),
    ];
    let name = URL_SAFE_NO_PAD.encode(bot.to_string());
    Meta {
        guild: GuildId(id(6).0),
        guild_name: "Workshop".to_owned(),
        channel: ChannelId(id(7).0),
        bot,
        application: ApplicationId(id(8).0),
        bot_token: format!("{name}.Simula.{}", entropy.hex::<19>()),
        control_token: entropy.hex::<20>(),
        signing_key: entropy.hex::<32>(),
        people,
    }
}

fn endpoints(meta: &Meta, hosts: &[String; 3]) -> Endpoints {
    let [api, cdn, control] = hosts.each_ref().map(|h| format!("http://{h}"));
    let who = |role: Role| meta.people.iter().find(|p| p.role == role && p.id != meta.bot).map_or(UserId(0), |p| p.id);
    let pid = std::process::id() as i32;
    Endpoints {
        api_base: api,
        cdn_base: cdn,
        page_url: format!("{control}/?t={}", meta.control_token),
        control_base: control,
        control_token: meta.control_token.clone(),
        bot_token: meta.bot_token.clone(),
        bot: meta.bot,
        application: meta.application,
        guild: meta.guild,
        channel: meta.channel,
        people: People {
            owner: who(Role::Owner),
            teammate: who(Role::Teammate),
            stranger: who(Role::Stranger),
            other_bot: who(Role::Bot),
        },
        pid,
        pid_start: process_start(pid),
    }
}
