//! The gateway's pump against the simulator, with the real REST client.

use std::sync::Arc;

use discord_os::base::clock::SystemClock;
use discord_os::base::entropy::Entropy;
use discord_os::base::secret::Secret;
use discord_os::discord::gateway::Event;
use discord_os::discord::rest::{Rest, RestConfig};
use discord_os::sim::client::{Control, GatewayAct};
use discord_os::sim::{Options, Sim};

use super::gateway::{Known, Memory, Running, quick};

/// What people wrote, as it was heard.
fn contents(known: &Known) -> Vec<String> {
    let messages = known.taken.iter().filter_map(|heard| match &heard.event {
        Event::Message(message) => Some(message.content.clone()),
        _ => None,
    });
    messages.collect()
}

fn resumes(known: &Known) -> usize {
    known.taken.iter().filter(|heard| heard.event == Event::Resumed).count()
}

#[tokio::test]
async fn a_hundred_messages_are_heard_once_each_through_every_break_that_can_be_resumed() {
    let (clock, entropy) = (SystemClock::shared(), Arc::new(Entropy::seeded(11)));
    let options = Options { seed: Some(11), heartbeat_ms: Some(300), ..Options::default() };
    let sim = Sim::start(options, Arc::clone(&clock), Arc::clone(&entropy)).await.unwrap();
    let (place, control) = (sim.endpoints().clone(), Control::new(sim.endpoints()).unwrap());
    let token = Secret::new(place.bot_token.as_str());
    let rest = Rest::new(RestConfig::new(place.api_base.as_str(), token.clone(), clock, entropy)).unwrap();
    let ears = Memory::new();
    let pump = Running::with(Arc::new(rest), token, &ears, quick());
    ears.until("READY", |k| !k.taken.is_empty()).await;

    let acts = [
        GatewayAct::Drop,
        GatewayAct::Close(4000),
        GatewayAct::Reconnect,
        GatewayAct::Invalid(true),
        GatewayAct::Silent(1_200),
    ];
    let mut said = Vec::new();
    for (round, act) in acts.into_iter().enumerate() {
        for number in 0..20 {
            if number == 10 {
                control.gateway(act).await.unwrap();
            }
            let text = format!("round {round}, number {number}");
            control.say(place.people.owner, place.channel, &text).await.unwrap();
            said.push(text);
        }
        ears.until("resumed", |k| resumes(k) > round).await;
    }
    ears.until("all of it", |k| contents(k).len() >= said.len()).await;
    assert_eq!(contents(&ears.0.borrow()), said);
    pump.stop().await;

    let counters = control.counters().await.unwrap();
    assert_eq!((counters.identifies, counters.gateway_sends_over_limit), (1, 0));
    assert!(counters.resumes >= 5);
    assert!(control.violations().await.unwrap().is_empty());
    sim.stop().await;
}
