//! A small agent for tests, in shell: notes each start, works for a moment, leaves a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes the agent and gives the command line for it. `work` is what it does between its start and its end.
pub fn command(folder: &Path, work: &str) -> String {
    let script = folder.join("agent.sh");
    let starts = starts_path(folder);
    let text = format!(
        "#!/bin/sh\necho \"$DISCORD_OS_RUN_ID\" >> '{}'\nprompt=$(cat)\necho \"I was asked: $prompt\"\n{work}\n\
         echo \"$prompt\" > \"$DISCORD_OS_ARTIFACTS/asked.txt\"\necho done\n",
        starts.display()
    );
    std::fs::write(&script, text).unwrap();
    format!("sh '{}'", script.display())
}

fn starts_path(folder: &Path) -> PathBuf {
    folder.join("starts.txt")
}

/// How often each run was started.
pub fn starts(folder: &Path) -> BTreeMap<String, u32> {
    let text = std::fs::read_to_string(starts_path(folder)).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines().for_each(|id| *counts.entry(id.to_owned()).or_default() += 1);
    counts
}
