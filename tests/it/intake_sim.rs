//! Intake as a whole on the simulator, with the real REST client and the real gateway.

use std::sync::Arc;
use std::time::Duration;

use discord_os::base::bell::Bell;
use discord_os::base::clock::{Millis, SystemClock};
use discord_os::base::entropy::Entropy;
use discord_os::base::failure::Failure;
use discord_os::base::ids::{BotKey, HostId, KeyId};
use discord_os::base::secret::Secret;
use discord_os::base::stop::Stop;
use discord_os::discord::rest::{Rest, RestConfig};
use discord_os::intake::{Intake, IntakeParts};
use discord_os::ledger::bots::{self, Bot};
use discord_os::ledger::control::{self, By};
use discord_os::ledger::people::{self, Person, Subject};
use discord_os::ledger::{Ledger, channels, inbox};
use discord_os::model::actor::Role;
use discord_os::model::power::Power;
use discord_os::model::settings::Limits;
use discord_os::model::tap::Signer;
use discord_os::sim::client::{Control, GatewayAct};
use discord_os::sim::{Options, Sim};
use discord_os::verbs::Tools;
use tokio::task::JoinSet;

/// Longest that a test waits for what must come: every back-off and spacing of the way fits in.
const LONGEST: Duration = Duration::from_secs(60);

struct Town {
    _dir: tempfile::TempDir,
    sim: Sim,
    control: Control,
    ledger: Ledger,
    bell: Bell,
    tools: Tools,
    stop: Stop,
    running: JoinSet<Result<(), Failure>>,
}

impl Town {
    async fn new(options: Options, token: Option<&str>) -> Self {
        let (clock, entropy) = (SystemClock::shared(), Arc::new(Entropy::seeded(3)));
        let sim = Sim::start(options, Arc::clone(&clock), Arc::clone(&entropy)).await.unwrap();
        let place = sim.endpoints().clone();
        let token = Secret::new(token.unwrap_or(&place.bot_token));
        let config = RestConfig::new(place.api_base.as_str(), token.clone(), Arc::clone(&clock), Arc::clone(&entropy));
        let discord = Arc::new(Rest::new(config).unwrap());
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.db")).unwrap();
        let tools = Tools {
            host: HostId("h1".into()),
            bot: BotKey("main".into()),
            signer: Signer::new(KeyId("k1".into()), [5; 32]),
            clock: Arc::clone(&clock),
            entropy,
            limits: Limits::default(),
            backend: "command".into(),
            owner_pinned: false,
            silent: false,
        };
        let t = tools.clone();
        let owner = place.people.owner;
        ledger
            .write("setup", move |tx| {
                control::start_host(tx, &t.host, "boot", Millis(1))?;
                control::set_power(tx, &t.host, Power::On, &By { who: "local", why: None, at: t.clock.now() })?;
                bots::ensure(tx, &t.bot, &t.host)?;
                channels::ensure_staff(tx, &t.bot, place.channel, Some(place.guild))?;
                let subject = Subject::User(owner);
                let owner = Person { subject, role: Role::Owner, name: None, added_by: "local".into(), at: Millis(1) };
                people::add(tx, &t.bot, &owner)
            })
            .await
            .unwrap();
        let control = Control::new(sim.endpoints()).unwrap();
        let (bell, stop) = (ledger.bell(), Stop::new());
        let parts = IntakeParts { ledger: ledger.clone(), discord, tools: tools.clone(), token, message_content: true };
        let mut running = JoinSet::new();
        running.spawn(Intake::new(parts).run(stop.clone()));
        Self { _dir: dir, sim, control, ledger, bell, tools, stop, running }
    }

    async fn bot(&self) -> Bot {
        let key = self.tools.bot.clone();
        self.ledger.read(move |r| bots::get(r, &key)).await.unwrap().unwrap()
    }

    async fn states(&self) -> Vec<(String, usize)> {
        let key = self.tools.bot.clone();
        self.ledger.read(move |r| inbox::counts(r, &key)).await.unwrap()
    }

    /// Waits for a condition on the ledger, looking again after every commit.
    async fn until(&self, what: &str, holds: impl AsyncFn(&Self) -> bool) {
        let wait = async {
            while !holds(self).await {
                self.bell.wait(LONGEST).await;
            }
        };
        let ended = tokio::time::timeout(LONGEST, wait).await;
        assert!(ended.is_ok(), "waited in vain for: {what}; {:?} {:?}", self.bot().await, self.states().await);
    }

    async fn end(mut self) {
        self.stop.stop();
        self.running.join_next().await.unwrap().unwrap().unwrap();
        assert!(self.control.violations().await.unwrap().is_empty());
        self.sim.stop().await;
    }
}

#[tokio::test]
async fn i_3_of_a_hundred_messages_none_is_lost_or_doubled_when_the_session_breaks_or_is_lost() {
    let options = Options { seed: Some(3), heartbeat_ms: Some(300), ..Options::default() };
    let town = Town::new(options, None).await;
    let place = town.sim.endpoints().clone();
    town.until("up", async |town| town.bot().await.link == "up").await;
    for (round, act) in [GatewayAct::Drop, GatewayAct::Close(4000), GatewayAct::Invalid(false), GatewayAct::Reconnect]
        .into_iter()
        .enumerate()
    {
        for number in 0..25 {
            if number == 10 {
                town.control.gateway(act).await.unwrap();
            }
            let text = format!("what is in round {round}, number {number}?");
            town.control.say(place.people.owner, place.channel, &text).await.unwrap();
        }
    }
    town.until("all acted", async |town| town.states().await == [("acted".to_owned(), 100)]).await;
    town.end().await;
}

#[tokio::test]
async fn without_the_message_content_intent_it_connects_all_the_same_and_says_so() {
    let options = Options { seed: Some(4), message_content: Some(false), ..Options::default() };
    let town = Town::new(options, None).await;
    town.until("up without content", async |town| {
        let bot = town.bot().await;
        bot.link == "up" && bot.link_why.is_some_and(|why| why.contains("Message Content Intent"))
    })
    .await;
    town.end().await;
}

#[tokio::test]
async fn a_wrong_token_ends_it_and_turns_the_host_off_with_the_reason() {
    let wrong = "MTIzNDU2Nzg5MDEyMzQ1Njc4.AAAAAA.wrong-wrong-wrong-wrong-wrong";
    let mut town = Town::new(Options { seed: Some(5), ..Options::default() }, Some(wrong)).await;
    let ended = tokio::time::timeout(LONGEST, town.running.join_next()).await.unwrap();
    assert!(ended.unwrap().unwrap().is_err());
    let host = town.tools.host.clone();
    let host = town.ledger.read(move |r| control::host(r, &host)).await.unwrap().unwrap();
    assert_eq!((host.power, town.bot().await.link.as_str()), (Power::Off, "fatal"));
    assert!(host.power_why.unwrap().contains("token"));
    town.sim.stop().await;
}
