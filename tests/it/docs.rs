//! What the documents say can be typed, typed; what they say can be set, compared with what can.

use std::path::Path;

use discord_os::config::names;
use serde_json::Value;

use super::cli::Person;

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// Lines of the `sh` blocks, without comments.
fn typed(text: &str) -> Vec<String> {
    let (mut lines, mut inside) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => lines.push(line.split(" #").next().unwrap_or(line).trim().to_owned()),
            _ => {}
        }
    }
    lines
}

/// Commands that stand in the running text, in backticks, with a number for `ID`.
fn named(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    spans
        .filter(|span| span.starts_with("discord-os ") && !span.contains("COMMAND"))
        .map(|span| span.replace(" ID", " 1"))
        .collect()
}

/// The words after the program's name, and where stdout goes.
fn words(line: &str) -> (Vec<String>, Option<String>) {
    let mut words = shell_words::split(line).unwrap();
    assert_eq!(words.remove(0), "discord-os");
    match words.iter().position(|word| word == ">") {
        Some(at) => (words[..at].to_vec(), Some(words[at + 1].clone())),
        None => (words, None),
    }
}

#[test]
fn every_command_of_the_documents_parses() {
    let me = Person::new();
    for file in ["README.md", "docs/cli.md", "docs/json.md", "docs/simulator.md", "docs/ARCHITECTURE.md"] {
        let text = text(file);
        let lines = typed(&text).into_iter().filter(|line| line.starts_with("discord-os "));
        for line in lines.chain(named(&text)) {
            let (mut words, _) = words(&line);
            words.push("--help".to_owned());
            let done = me.types(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(done.code, 0, "{file}: {line}: {}", done.stderr);
        }
    }
}

#[test]
fn every_command_that_needs_no_discord_does_what_the_documents_say() {
    for file in ["README.md", "docs/cli.md"] {
        let me = Person::new();
        std::fs::write(me.cwd().join("notes.txt"), "mind the gap\n").unwrap();
        let mut ran = 0;
        for line in typed(&text(file)).iter().filter(|line| line.contains("--fake") && !line.contains("host run")) {
            let (words, out) = words(line);
            std::fs::remove_file(me.cwd().join("back.txt")).ok();
            let done = me.types(&words.iter().map(String::as_str).collect::<Vec<_>>());
            // DOS-1 has ended by then, so there is nothing to cancel; and the host is off between two commands.
            let refused = line.contains("jobs cancel") || line.contains("jobs retry");
            assert_eq!(done.code, if refused { 3 } else { 0 }, "{file}: {line}: {}", done.stderr);
            if words[0] == "get" {
                let got = if out.is_some() { done.stdout } else { std::fs::read(me.cwd().join("back.txt")).unwrap() };
                assert_eq!(got, b"mind the gap\n", "{line}");
            }
            ran += 1;
        }
        assert!(ran >= 8, "{file}: only {ran} commands were found");
    }
}

#[test]
fn every_setting_is_in_the_table_and_in_the_example_with_its_default() {
    let (table, example) = (text("docs/cli.md"), text(".env.example"));
    let usual = Person::new().types(&["config", "--json"]).json();
    for known in names::ALL {
        assert!(table.contains(&format!("\n| `{}` |", known.name)), "docs/cli.md lacks {}", known.name);
        assert!(example.contains(known.name), ".env.example lacks {}", known.name);
    }
    for line in example.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' ')) {
        let Some((name, value)) = line.split_once('=') else { continue };
        assert!(names::find(name).is_some(), ".env.example names {name}");
        let said = usual.as_array().unwrap().iter().find(|shown| shown["name"] == name).unwrap();
        let personal = ["AGENT_DISCORD_BACKEND", "PUPPETMASTER_CWD"].contains(&name);
        if let Some(default) = said["value"].as_str().filter(|_| !personal) {
            assert_eq!(value, default, "{name}");
        }
    }
    let settings = typed(&text("README.md"));
    for line in settings.iter().filter(|line| line.contains('=') && !line.starts_with("discord-os")) {
        let name = line.split('=').next().unwrap();
        assert!(names::find(name).is_some(), "README.md sets {name}");
    }
}

#[test]
fn links_and_pictures_of_the_documents_are_there() {
    for file in ["README.md", "docs/cli.md", "docs/ARCHITECTURE.md"] {
        let text = text(file);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(file).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let local = !target.contains("://") && !target.starts_with('#');
            assert!(!local || folder.join(target).exists(), "{file}: {target}");
        }
        let paths =
            text.split('`').skip(1).step_by(2).filter(|span| span.starts_with("src/") || span.starts_with("tests/"));
        for path in paths.filter(|path| !path.contains('<')) {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists(), "{file}: {path}");
        }
    }
}

fn keys(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            found.push(key.clone());
            keys(value, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    let (me, shapes) = (Person::new(), text("docs/json.md"));
    std::fs::write(me.cwd().join("notes.txt"), "mind the gap\n").unwrap();
    for line in [
        "run 'What is here?' --fake",
        "put notes.txt --fake",
        "ls --fake",
        "get notes.txt --fake --out back.txt",
        "jobs list --fake",
        "jobs show DOS-1 --fake",
        "status --fake",
        "spend --fake",
        "pair --fake --user-id 7 --role operator",
        "check --fake",
        "config --fake",
        "bootstrap",
        "invite --application-id 7",
    ] {
        let mut words = shell_words::split(line).unwrap();
        words.push("--json".to_owned());
        let done = me.types(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        let mut found = Vec::new();
        keys(&done.json(), &mut found);
        assert!(!found.is_empty(), "{line} told nothing");
        for key in found {
            assert!(shapes.contains(&key), "docs/json.md lacks {key} of {line}");
        }
    }
}
