//! Ctrl-C and SIGTERM: say stop; a second one ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::base::failure::Failure;
use crate::base::stop::Stop;

/// Says `stop` at the first SIGINT or SIGTERM, and returns at the second.
///
/// # Errors
/// Signals cannot be heard.
pub async fn watch(stop: Stop) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::failed(format!("Signals cannot be heard: {e}."));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    for _ in 0..2 {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        stop.stop();
    }
    Ok(())
}

/// Makes a file that outgrows its limit (`ulimit -f`) an error of the write, which can be told, rather than the end
/// of the process. Holds while the value lives; children have their own.
pub fn outgrow() -> Option<Signal> {
    signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)).ok()
}

/// Runs `work` until it ends by itself or, told to stop, in its own time; a second signal cuts it off.
///
/// # Errors
/// Those of `work`, and that it was cut off.
pub async fn heed<T>(stop: &Stop, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::select! {
        done = work => done,
        cut = watch(stop.clone()) => {
            cut?;
            Err(Failure::failed("It was cut off by a second signal.").hint("What was running is looked after at the next start."))
        }
    }
}
