//! What must never be written anywhere: the bot's token, and links that lead to bytes (I-10, I-11). The agent prints
//! both in every way that it has, and a person writes them; then every byte that the host wrote is searched.

use std::path::Path;

use discord_os::sim::client::MessageView;

use super::desk::Desk;
use super::{phone, truth};

const LINK: &str = "https://cdn.discordapp.com/attachments/1/2/a.txt?ex=66aa&is=77bb&hm=88cc&";

/// What was found where.
type Evidence = Vec<(String, Vec<u8>)>;

fn agent(folder: &Path, token: &str) -> String {
    let (one, two) = token.split_at(token.len() / 2);
    let script = format!(
        r#"prompt=$(cat)
if [ "${{prompt#*fails}}" != "$prompt" ]; then echo "it broke with {token} at {LINK}" >&2; exit 3; fi
echo "::step reading {token} from {LINK}"
printf 'The token is {one}'; sleep 0.8; printf '{two} and '; echo '{{"token":"{token}","url":"{LINK}"}}'
printf 'Half a link: https://cdn.discordapp.com/attachments/1/2/a.txt'; sleep 0.8; echo '?ex=66aa&is=77bb&hm=88cc& end'
head -c 5000 /dev/zero | tr '\0' x; echo '{token}{LINK}'
echo "asked: $prompt"
echo '{token}' > "$DISCORD_OS_ARTIFACTS/token.txt"
(head -c 262100 /dev/zero; echo '{token}') > "$DISCORD_OS_ARTIFACTS/deep.bin"
echo hello > "$DISCORD_OS_ARTIFACTS/{token}.txt"
echo fine > "$DISCORD_OS_ARTIFACTS/fine.txt"
"#
    );
    let path = folder.join("teller.sh");
    std::fs::write(&path, script).unwrap();
    format!("sh '{}'", path.display())
}

/// Lives the story and gathers what the host wrote and what its children could read.
async fn evidence() -> Evidence {
    let mut desk = Desk::with("true").await;
    let token = desk.endpoints().bot_token.clone();
    let command = agent(desk.folder(), &token);
    desk.set("DISCORD_OS_COMMAND", &command);
    let owner = desk.owner();
    desk.start();
    // A card that is pressed before its row is there makes nobody an owner.
    while desk.count("SELECT count(*) FROM people") == 0 {
        let card = owner.host_card("pair").await;
        owner.tap(&card, "pair").await;
    }
    owner.say(&format!("What is held: {token} or {LINK}?")).await;
    desk.counts(1, "SELECT count(*) FROM inbox WHERE state = 'held'").await;
    let card = owner.host_card("on").await;
    owner.tap(&card, "on").await;
    let asked = owner.say(&format!("What is {token} at {LINK}?")).await;
    owner.say(&format!("Delete {token} at {LINK}")).await;
    let mut found = Evidence::new();
    phone::until("a child of the run lives", async || (desk.marked_processes().len() >= 2).then_some(())).await;
    for pid in desk.marked_processes() {
        for file in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            found.push((format!("{file} of a child"), bytes));
        }
    }
    owner.thread_of(asked).await.receipt().await;
    let failing = owner.say("What fails here?").await;
    let why = phone::text_of(&owner.thread_of(failing).await.receipt().await);
    assert!(why.contains("it broke with"), "{why}");
    truth::rest(&desk).await;
    assert_eq!(desk.count("SELECT count(*) FROM objects"), 1, "only the file that holds no secret is stored");
    let bot = desk.endpoints().bot;
    for message in truth::everything(&desk).await.into_iter().filter(|m| m.author.id == bot) {
        found.push(("a message".to_owned(), shown(&message)));
    }
    files(&desk.workspace(), &mut found);
    found.push(("the host's log".to_owned(), desk.log().into_bytes()));
    assert!(found.iter().any(|(place, _)| place.ends_with("ledger.db")));
    found
}

/// A message as it was sent: without the links that Discord adds to its files.
fn shown(message: &MessageView) -> Vec<u8> {
    let mut text = phone::text_of(message);
    for file in &message.attachments {
        text.push_str(&format!("\n{} {:?} {:?}", file.filename, file.title, file.description));
    }
    text.push_str(&serde_json::to_string(&message.components).unwrap());
    text.into_bytes()
}

/// Every file of the workspace but what the agent itself wrote into its folders.
fn files(folder: &Path, found: &mut Evidence) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != "artifacts" {
            files(&path, found);
        } else if kind.is_file() {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], what: &str) -> bool {
    bytes.windows(what.len()).any(|w| w == what.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn i_10_i_11_neither_a_token_nor_a_link_to_bytes_is_written_anywhere() {
    let sim = Desk::with("true").await;
    // The simulator's tokens are the same in every world of one seed.
    let endpoints = sim.endpoints();
    let (token, control) = (endpoints.bot_token.clone(), endpoints.control_token.clone());
    let half = &token[token.len() / 2..];
    for (place, bytes) in evidence().await {
        for what in [&token, &control, half, "?ex=", "hm=88cc", "ex=66aa"] {
            assert!(!holds(&bytes, what), "{place} holds {what}");
        }
    }
}
