//! Places: opens the thread of a task, once, on the message that asked.

use super::cards::notice;
use super::hands::{Hands, Took, message_gone, took};
use crate::discord::error::{ErrorKind, Retry};
use crate::ledger::errands::{self, Errand};
use crate::ledger::{LedgerError, Result};

/// Tries after which a job does without a thread: its cards then stand in the channel of the ask.
const TRIES: u32 = 20;

/// Opens the thread, or notes why not.
pub(super) async fn serve(hands: &Hands, errand: &Errand) -> Result<Took> {
    let task = errand.task.clone();
    let Some(ask) = task.ask_message else { return Ok(Took::Nothing) };
    let name = notice::thread_name(&task);
    let error = match hands.discord.open_thread(task.channel, ask, &name).await {
        Ok(thread) => {
            let now = hands.clock.now();
            hands.ledger.write("thread-opened", move |tx| errands::opened(tx, &task, thread, now)).await?;
            return Ok(Took::Nothing);
        }
        Err(error) => error,
    };
    let why = error.message.clone();
    if message_gone(&error) && errand.tries < TRIES {
        let (post, now) = (notice::starter(&task), hands.clock.now());
        hands.ledger.write("thread-stand-in", move |tx| errands::stand_in(tx, &task, &post, now)).await?;
        return Ok(Took::Nothing);
    }
    // Opening what is there already is a success, so an unknown outcome is simply tried again.
    let again = error.retry() != Retry::Never || matches!(error.kind, ErrorKind::Unknown | ErrorKind::Unauthorized);
    let away = matches!(error.kind, ErrorKind::Unreachable | ErrorKind::Unauthorized | ErrorKind::Blocked);
    if again && (away || errand.tries < TRIES) {
        let wait = hands.wait(&error, errand.tries);
        let at = hands.at(wait);
        hands.ledger.write("thread-put-off", move |tx| errands::put_off(tx, &task.id, at, &why)).await?;
        return Ok(took(&error, wait));
    }
    tracing::warn!("{}: no thread could be opened: {why}", task.code);
    hands.ledger.write("thread-failed", move |tx| errands::failed(tx, &task.id, &why)).await?;
    Ok::<_, LedgerError>(Took::Nothing)
}
