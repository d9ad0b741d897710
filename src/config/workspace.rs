//! The workspace folder: where it is, who may read it, and what must not be ignored.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::base::failure::Failure;

/// A workspace: one folder that holds everything of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace at an absolute path. Nothing is made.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger.db")
    }

    /// Keys at rest.
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// What runs left behind, until it is stored.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The simulator's workspace: complete, and nobody's who is paired with the real host.
    pub fn sim(&self) -> Self {
        Self::at(self.root.join("sim"))
    }

    /// The simulated Discord itself: its journal and the bytes of its files.
    pub fn world(&self) -> PathBuf {
        self.root.join("world")
    }

    /// Makes the folder and its parts, each for its owner alone (0700).
    ///
    /// # Errors
    /// A folder that cannot be made, or belongs to somebody else.
    pub fn make(&self) -> Result<(), Failure> {
        for folder in [self.root.clone(), self.keys(), self.artifacts(), self.logs()] {
            private_folder(&folder)?;
        }
        Ok(())
    }
}

/// Makes a folder for its owner alone, or takes away what others may do in one that is there.
///
/// # Errors
/// It cannot be made or changed.
pub fn private_folder(path: &Path) -> Result<(), Failure> {
    let fail = |e: std::io::Error| {
        Failure::failed(format!("The folder {} cannot be made private: {e}.", path.display()))
            .hint("Choose another workspace with --workspace, or make the folder yours.")
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(fail)?;
    let meta = std::fs::metadata(path).map_err(fail)?;
    if meta.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(fail)?;
    }
    Ok(())
}

/// Refuses to start beside a workspace of the Python program that was not taken over: with its people unknown,
/// the next person to tap would become the owner.
///
/// # Errors
/// Such a folder was found: here, in the current folder, or where that program keeps its own.
pub fn refuse_foreign(own: &Workspace, current: &Path, home: Option<&Path>) -> Result<(), Failure> {
    let mut places = vec![own.root().to_owned(), current.join(".agent-discord")];
    if let Some(home) = home {
        let theirs = [".agent-discord", "discord-os/.agent-discord", ".discord-os/workspace"];
        places.extend(theirs.map(|place| home.join(place)));
    }
    let Some(found) = places.into_iter().find(|place| is_foreign(place)) else { return Ok(()) };
    Err(Failure::usage(format!(
        "{} belongs to the Python program: its people, schedules and spend would be ignored.",
        found.display()
    ))
    .hint("Taking it over (`bootstrap --import`) comes in a later version. Until then move that folder away, and pair anew."))
}

/// Whether a folder looks like a workspace of the Python program: its marker or its database, and no ledger of ours.
fn is_foreign(folder: &Path) -> bool {
    if folder.join("ledger.db").exists() {
        return false;
    }
    if folder.join("bootstrap.json").exists() || folder.join("keys/vault.json").exists() {
        return true;
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let databases = ["db", "sqlite", "sqlite3"];
    entries.flatten().any(|entry| {
        let name = PathBuf::from(entry.file_name());
        name.extension().and_then(|e| e.to_str()).is_some_and(|e| databases.contains(&e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("w");
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
        let workspace = Workspace::at(&root);
        workspace.make().unwrap();
        for folder in [root, workspace.keys(), workspace.artifacts(), workspace.logs()] {
            assert_eq!(std::fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_workspace_of_the_python_program_is_never_ignored() {
        for place in [
            "own",
            "cwd/.agent-discord",
            "home/.agent-discord",
            "home/discord-os/.agent-discord",
            "home/.discord-os/workspace",
        ] {
            for mark in ["bootstrap.json", "agent.db", "state.sqlite3"] {
                let dir = tempfile::tempdir().unwrap();
                let own = Workspace::at(dir.path().join("own"));
                let (cwd, home) = (dir.path().join("cwd"), dir.path().join("home"));
                assert!(refuse_foreign(&own, &cwd, Some(&home)).is_ok());
                std::fs::create_dir_all(dir.path().join(place)).unwrap();
                std::fs::write(dir.path().join(place).join(mark), "").unwrap();
                let refused = refuse_foreign(&own, &cwd, Some(&home)).unwrap_err();
                assert!(refused.message.contains(place) && refused.hint.is_some(), "{refused}");
                std::fs::write(dir.path().join(place).join("ledger.db"), "").unwrap();
                assert!(refuse_foreign(&own, &cwd, Some(&home)).is_ok(), "our own workspace at {place}");
            }
        }
    }
}
