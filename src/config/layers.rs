//! Where a value came from, and which of several wins.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{dotenv, names};
use crate::base::failure::Failure;

/// Largest settings file that is read (I-17): a thousand times what all names need.
const MAX_FILE: u64 = 1 << 20;

/// Where a value came from. Later ones win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Built in.
    Default,
    /// `config.toml`.
    ConfigToml(PathBuf),
    /// `.env`.
    DotEnv(PathBuf),
    /// The token file of the Python program.
    TokenFile(PathBuf),
    /// The environment.
    Environment,
    /// A flag of the command line, or the simulator's own value under `--fake`.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::ConfigToml(path) | Self::DotEnv(path) | Self::TokenFile(path) => write!(f, "{}", path.display()),
            Self::Environment => f.write_str("environment"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub text: String,
    pub source: Source,
}

/// Every value that was set, the winners only.
#[derive(Default)]
pub(super) struct Layers(HashMap<&'static str, Value>);

impl Layers {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Takes a value; empty ones count as not set, as most programs have it.
    pub(super) fn set(&mut self, name: &str, text: String, source: Source) {
        match names::find(name) {
            Some(known) if !text.is_empty() => drop(self.0.insert(known.name, Value { text, source })),
            _ => {}
        }
    }

    pub(super) fn environment(&mut self, env: &[(OsString, OsString)]) -> Result<(), Failure> {
        for (name, value) in env {
            let Some(known) = name.to_str().and_then(names::find) else { continue };
            let Some(text) = value.to_str() else {
                return Err(Failure::usage(format!("{} in the environment is not valid UTF-8.", known.name))
                    .hint("Set it again with plain text."));
            };
            self.set(known.name, text.to_owned(), Source::Environment);
        }
        Ok(())
    }

    pub(super) fn dotenv(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(text) = read(path)? else { return Ok(()) };
        let pairs = dotenv::parse(&text).map_err(|bad| {
            Failure::usage(format!("Line {} of {} {}.", bad.line, path.display(), bad.why))
                .hint("Write KEY=VALUE, or start the line with # to make it a comment.")
        })?;
        // Other programs keep their own names in such files, so a name that is not ours is passed over.
        for (name, value) in pairs {
            inside_workspace(&name, path)?;
            self.set(&name, value, Source::DotEnv(path.to_owned()));
        }
        Ok(())
    }

    pub(super) fn config_toml(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(text) = read(path)? else { return Ok(()) };
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            Failure::usage(format!("{} is not valid TOML: {}.", path.display(), e.message()))
                .hint("Write one NAME = \"value\" on a line.")
        })?;
        for (name, value) in table {
            inside_workspace(&name, path)?;
            if names::find(&name).is_none() {
                return Err(Failure::usage(format!("{} sets {name:?}, which is not a known name.", path.display()))
                    .hint(format!("Did you mean {}? `discord-os config` lists every name.", names::nearest(&name))));
            }
            let text = plain(&value).ok_or_else(|| {
                Failure::usage(format!("{name} in {} is a {}.", path.display(), value.type_str()))
                    .hint(format!("Write {name} = \"value\", as a text, number, or true / false."))
            })?;
            self.set(&name, text, Source::ConfigToml(path.to_owned()));
        }
        Ok(())
    }

    /// A parsed value, or the default where none is set.
    pub(super) fn parsed<T>(
        &self,
        name: &'static str,
        want: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match read(&value.text) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(malformed(name, value, want)),
        }
    }

    /// The same for what has a text form of its own.
    pub(super) fn id<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Failure> {
        self.parsed(name, "a Discord id (digits only, such as 123456789012345678)", |text| text.parse().ok())
    }
}

/// The failure for a value that cannot be read. A secret is never repeated.
pub(super) fn malformed(name: &str, value: &Value, want: &str) -> Failure {
    let secret = names::find(name).is_none_or(|known| known.secret);
    let shown = if secret { "The value".to_owned() } else { format!("{:?}", crate::base::text::cut(&value.text, 60)) };
    Failure::usage(format!("{name} cannot be used: {shown} is not {want} (set by {}).", value.source))
        .hint(format!("Set {name} to {want}, or remove it."))
}

fn inside_workspace(name: &str, path: &Path) -> Result<(), Failure> {
    if name != names::AGENT_DISCORD_WORKSPACE {
        return Ok(());
    }
    Err(Failure::usage(format!("{} sets {name}, but that file lies inside the workspace itself.", path.display()))
        .hint(format!("Set {name} in the environment, or use --workspace.")))
}

fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(n) => Some(n.to_string()),
        toml::Value::Float(n) => Some(n.to_string()),
        toml::Value::Boolean(yes) => Some(if *yes { "on" } else { "off" }.to_owned()),
        _ => None,
    }
}

pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let fail = |e: std::io::Error| {
        Failure::usage(format!("{} cannot be read: {e}.", path.display())).hint("Check that the file is yours.")
    };
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(e)),
        // Opening a pipe would wait for its other end.
        Ok(meta) if !meta.is_file() => {
            return Err(Failure::usage(format!("{} is not a regular file.", path.display()))
                .hint("Move it away; a settings file holds NAME = value lines."));
        }
        Ok(meta) if meta.len() > MAX_FILE => {
            return Err(Failure::usage(format!("{} is too big to be a settings file.", path.display()))
                .hint("Keep only NAME = value lines in it."));
        }
        Ok(_) => {}
    }
    std::fs::read_to_string(path).map(Some).map_err(fail)
}
