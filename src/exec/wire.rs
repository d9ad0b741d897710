//! What host and warden say to each other: frames of JSON over the socket that is the warden's stdin.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Exit, Spec};

/// Largest frame in bytes. The largest honest one is a spec: arguments and environment (the kernel
/// allows 2 MiB) and a prompt.
pub(super) const MAX_FRAME: usize = 16 << 20;

/// From the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// What to run; always the first.
    Spec(SpecWire),
    /// Run it.
    Go,
    /// End everything.
    Kill,
}

/// From the warden.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// It stands and waits for the go.
    Ready,
    /// The program runs: number and start time.
    Started(i32, u64),
    /// The program could not be started: why.
    Failed(String),
    /// It is over; always the last.
    Exited(ExitWire),
}

/// A [`Spec`] in JSON; everything that may not be UTF-8 in base64.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SpecWire {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
    stdin: String,
    mark: String,
    deadline_ms: u64,
}

/// An [`Exit`] in JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExitWire {
    code: Option<i32>,
    signal: Option<i32>,
    late: bool,
    ended: u32,
    gone: bool,
}

impl From<&Spec> for SpecWire {
    fn from(spec: &Spec) -> Self {
        let text = |s: &OsStr| STANDARD.encode(s.as_bytes());
        Self {
            argv: spec.argv.iter().map(|s| text(s)).collect(),
            env: spec.env.iter().map(|(k, v)| (text(k), text(v))).collect(),
            cwd: text(spec.cwd.as_os_str()),
            stdin: STANDARD.encode(&spec.stdin),
            mark: spec.mark.clone(),
            deadline_ms: u64::try_from(spec.deadline.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl TryFrom<SpecWire> for Spec {
    type Error = io::Error;

    fn try_from(wire: SpecWire) -> io::Result<Self> {
        let bytes = |s: &str| STANDARD.decode(s).map_err(invalid);
        let text = |s: &str| bytes(s).map(OsString::from_vec);
        Ok(Self {
            argv: wire.argv.iter().map(|s| text(s)).collect::<io::Result<_>>()?,
            env: wire.env.iter().map(|(k, v)| Ok((text(k)?, text(v)?))).collect::<io::Result<_>>()?,
            cwd: PathBuf::from(text(&wire.cwd)?),
            stdin: bytes(&wire.stdin)?,
            mark: wire.mark,
            deadline: Duration::from_millis(wire.deadline_ms),
        })
    }
}

impl From<Exit> for ExitWire {
    fn from(exit: Exit) -> Self {
        let Exit { code, signal, late, ended, gone } = exit;
        Self { code, signal, late, ended, gone }
    }
}

impl From<ExitWire> for Exit {
    fn from(wire: ExitWire) -> Self {
        let ExitWire { code, signal, late, ended, gone } = wire;
        Self { code, signal, late, ended, gone }
    }
}

/// A value as one frame: length in four bytes, big-endian, then JSON.
pub(super) fn frame(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(value).map_err(invalid)?;
    if json.len() > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is too large"));
    }
    let mut out = Vec::with_capacity(json.len() + 4);
    out.extend_from_slice(&(json.len() as u32).to_be_bytes());
    out.extend_from_slice(&json);
    Ok(out)
}

/// Length of the frame that starts with these four bytes.
pub(super) fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_be_bytes(head) as usize;
    if length > MAX_FRAME { Err(invalid("the frame is too large")) } else { Ok(length) }
}

/// The value in a frame's JSON.
pub(super) fn value<T: DeserializeOwned>(json: &[u8]) -> io::Result<T> {
    serde_json::from_slice(json).map_err(invalid)
}

/// Reads one frame; end of file in front of it is an error too.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let mut json = vec![0; length(head)?];
    from.read_exact(&mut json)?;
    value(&json)
}

/// Writes one frame.
pub(super) fn write(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(value)?)?;
    to.flush()
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_keeps_bytes_that_are_no_text() {
        let odd = OsString::from_vec(vec![0xff, b'a', b'\n']);
        let spec = Spec {
            argv: vec!["sh".into(), odd.clone()],
            env: vec![("A".into(), odd.clone())],
            cwd: PathBuf::from(odd),
            stdin: vec![0, 255],
            mark: "m".into(),
            deadline: Duration::from_millis(1500),
        };
        let bytes = frame(&Order::Spec(SpecWire::from(&spec))).unwrap();
        let Order::Spec(wire) = read(&mut bytes.as_slice()).unwrap() else { panic!("not a spec") };
        let back = Spec::try_from(wire).unwrap();
        assert_eq!(format!("{spec:?}"), format!("{back:?}"));
    }

    #[test]
    fn a_frame_that_is_cut_or_too_large_is_an_error() {
        let bytes = frame(&Order::Go).unwrap();
        assert!(read::<Order>(&mut &bytes[..bytes.len() - 1]).is_err());
        assert!(read::<Order>(&mut u32::MAX.to_be_bytes().as_slice()).is_err());
        assert!(read::<Order>(&mut [].as_slice()).is_err());
    }
}
