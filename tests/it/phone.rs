//! A person with a phone, and the wait for something to be true.

use std::collections::BTreeMap;
use std::time::Duration;

use discord_os::base::ids::{ChannelId, InteractionId, MessageId, UserId};
use discord_os::sim::Endpoints;
use discord_os::sim::client::{Control, InteractionView, MessageView};
use serde_json::Value;

/// Longest wait for anything in a test; generous, since machines are busy.
const PATIENCE: Duration = Duration::from_secs(90);

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(15);

/// Waits until `look` gives something, and panics with `what` when it does not for too long.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// Somebody's phone, open at one channel.
#[derive(Clone)]
pub struct Phone {
    pub control: Control,
    pub who: UserId,
    pub channel: ChannelId,
}

impl Phone {
    /// The phone of `who`, open at the staff channel.
    pub fn of(endpoints: &Endpoints, who: UserId) -> Self {
        Self { control: Control::new(endpoints).unwrap(), who, channel: endpoints.channel }
    }

    /// The same person's phone, open at another channel or thread.
    pub fn at(&self, channel: ChannelId) -> Self {
        Self { channel, ..self.clone() }
    }

    /// Writes a message.
    pub async fn say(&self, text: &str) -> MessageId {
        self.control.say(self.who, self.channel, text).await.unwrap()
    }

    /// Everything that stands in the channel, oldest first.
    pub async fn all(&self) -> Vec<MessageView> {
        self.control.all_messages(self.who, self.channel).await.unwrap_or_default()
    }

    /// Waits for the newest message for which `test` holds.
    pub async fn sees(&self, what: &str, test: impl Fn(&MessageView) -> bool) -> MessageView {
        until(&format!("{what} is seen"), async || self.all().await.into_iter().rev().find(|m| test(m))).await
    }

    /// Waits for the HOST card, as one that offers `verb`.
    pub async fn host_card(&self, verb: &str) -> MessageView {
        self.sees(&format!("a HOST card with {verb}"), |m| is_host_card(m) && button(m, verb).is_some()).await
    }

    /// The thread of a message, once it is there.
    pub async fn thread_of(&self, message: MessageId) -> Self {
        let thread = until("a thread is opened", async || {
            let state = self.control.state(self.who).await.ok()?;
            state.channels.into_iter().find(|c| c.starter_message_id == Some(message)).map(|c| c.id)
        })
        .await;
        self.at(thread)
    }

    /// Waits for the job card of this thread, as one that offers `verb`.
    pub async fn job_card(&self, verb: &str) -> MessageView {
        self.sees(&format!("a job card with {verb}"), |m| button(m, verb).is_some()).await
    }

    /// Waits for the receipt of this thread.
    pub async fn receipt(&self) -> MessageView {
        self.sees("a receipt", |m| text_of(m).contains("Receipt")).await
    }

    /// Presses a button and waits for the answer.
    pub async fn tap(&self, message: &MessageView, verb: &str) -> InteractionView {
        let custom_id = button(message, verb).unwrap_or_else(|| panic!("there is no {verb} on {}", text_of(message)));
        let id = self.control.tap(self.who, message, &custom_id).await.unwrap();
        self.answer(id).await
    }

    /// The answer to an interaction, once there is one (or it failed).
    pub async fn answer(&self, id: InteractionId) -> InteractionView {
        until("an interaction is answered", async || {
            let seen = self.control.interaction(id).await.ok()?;
            (seen.state != "waiting").then_some(seen)
        })
        .await
    }

    /// Presses Ask on the HOST card and sends the form.
    pub async fn ask(&self, text: &str) -> InteractionView {
        let card = self.host_card("ask").await;
        let custom_id = button(&card, "ask").unwrap();
        let pressed = self.control.tap(self.who, &card, &custom_id).await.unwrap();
        let form = self.answer(pressed).await.modal.expect("Ask opens a form");
        let field = first_field(&form.components).expect("the form has a field");
        let fields = BTreeMap::from([(field, text.to_owned())]);
        let sent = self.control.submit(self.who, pressed, &fields).await.unwrap();
        self.answer(sent).await
    }

    /// Pairs and turns the host on.
    pub async fn pair_and_turn_on(&self) {
        let card = self.host_card("pair").await;
        self.tap(&card, "pair").await;
        let card = self.host_card("on").await;
        self.tap(&card, "on").await;
        self.sees("a HOST card that says Running", |m| is_host_card(m) && text_of(m).contains("Running")).await;
    }
}

/// Custom id of the button (or menu) that carries `verb` and can be pressed.
pub fn button(message: &MessageView, verb: &str) -> Option<String> {
    find(message, verb, false)
}

/// Whether it is a HOST card, whatever its buttons allow now.
pub fn is_host_card(message: &MessageView) -> bool {
    find(message, "ask", true).is_some()
}

fn find(message: &MessageView, verb: &str, disabled_too: bool) -> Option<String> {
    let mut found = None;
    walk(&Value::from(message.components.clone()), &mut |node| {
        let id = node["custom_id"].as_str().unwrap_or_default();
        let fits = id.starts_with("dos1:") && id.split(':').nth(2) == Some(verb);
        if fits && (disabled_too || node["disabled"] != true) {
            found = Some(id.to_owned());
        }
    });
    found
}

/// All text of a message: its content and every text display.
pub fn text_of(message: &MessageView) -> String {
    let mut text = message.content.clone();
    walk(&Value::from(message.components.clone()), &mut |node| {
        for key in ["content", "label"] {
            if let Some(more) = node[key].as_str() {
                text.push('\n');
                text.push_str(more);
            }
        }
    });
    text
}

fn first_field(components: &[Value]) -> Option<String> {
    let mut found = None;
    walk(&Value::from(components.to_vec()), &mut |node| {
        if node["type"] == 4 && found.is_none() {
            found = node["custom_id"].as_str().map(str::to_owned);
        }
    });
    found
}

fn walk(node: &Value, visit: &mut impl FnMut(&Value)) {
    match node {
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Object(fields) => {
            visit(node);
            fields.values().for_each(|value| walk(value, visit));
        }
        _ => {}
    }
}
