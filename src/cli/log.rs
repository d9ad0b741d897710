//! What the program says about itself while it works: to stderr, or to a file once one is named. Redacted (I-11).

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;

use tracing::Level;
use tracing_subscriber::fmt::MakeWriter;

use super::args::Global;
use crate::base::redact::redact;

/// Where lines go once a file is named.
static FILE: OnceLock<File> = OnceLock::new();

/// Starts logging: warnings, with `-v` what happens, with `-vv` everything of ours.
pub(super) fn start(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => Level::ERROR,
        (false, 0) => Level::WARN,
        (false, 1) => Level::INFO,
        (false, _) => Level::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_target(false).with_writer(Redacted);
    // A second start is one of a test in the same process, and changes nothing.
    log.try_init().ok();
}

/// Sends the rest to a file, for its owner alone. Where it cannot be opened, stderr goes on.
pub(super) fn to_file(path: &Path) {
    let opened = File::options().create(true).append(true).mode(0o600).open(path);
    match opened {
        Ok(file) => drop(FILE.set(file)),
        Err(error) => tracing::warn!("{} cannot be opened for the log: {error}", path.display()),
    }
}

struct Redacted;

impl<'a> MakeWriter<'a> for Redacted {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Vec::new())
    }
}

/// One event, gathered so that a secret is not cut in two, and written as a whole.
struct Line(Vec<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = redact(&String::from_utf8_lossy(&self.0));
        let written = match FILE.get() {
            Some(mut file) => file.write_all(text.as_bytes()),
            None => io::stderr().lock().write_all(text.as_bytes()),
        };
        // There is nowhere to say that nothing can be said.
        written.ok();
    }
}
