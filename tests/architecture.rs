//! The house rules, read off the code itself: which room may import which, how large things may grow, and where SQL,
//! the environment, the clock, children and printing may occur.

#![allow(clippy::unwrap_used, reason = "helpers of tests: what cannot be read fails the test")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Level of every room; imports go down only, and rooms of one level do not import each other.
const LEVELS: &[(&str, u8)] = &[
    ("cli", 8),
    ("host", 7),
    ("api", 6),
    ("intake", 5),
    ("verbs", 4),
    ("work", 4),
    ("relay", 4),
    ("objects", 3),
    ("sim", 3),
    ("discord", 2),
    ("ledger", 2),
    ("compute", 2),
    ("vault", 2),
    ("config", 2),
    ("model", 1),
    ("exec", 1),
    ("base", 0),
];

/// Lines of a file without its tests.
const FILE_LINES: usize = 400;

/// Paths that only some places may name, and why.
const PLACES: &[(&str, &[&str], &str)] = &[
    ("rusqlite", &["ledger/"], "SQL lives in the ledger"),
    ("std::env", &["config/", "base/crash.rs", "exec/", "main.rs", "bin/"], "config alone reads the environment"),
    ("env::var", &["config/", "base/crash.rs"], "config alone reads the environment"),
    ("SystemTime", &["base/clock.rs"], "time comes from a Clock"),
    ("process::Command", &["exec/"], "children are started by exec"),
    ("println", &["cli/"], "the CLI alone prints"),
    ("eprintln", &["cli/"], "the CLI alone prints"),
    ("print", &["cli/"], "the CLI alone prints"),
    ("eprint", &["cli/"], "the CLI alone prints"),
];

struct Source {
    /// Path below `src`, with `/`.
    name: String,
    text: String,
    tree: syn::File,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(files.len() > 20, "only {} files were found below src", files.len());
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let tree = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            Source { name, text, tree }
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|a| {
        a.path().is_ident("test")
            || (a.path().is_ident("cfg") && quoted(a).contains("test") && !quoted(a).contains("feature"))
    })
}

fn quoted(attr: &syn::Attribute) -> String {
    match &attr.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    }
}

/// Every path that code outside of tests names, `use` trees flattened.
#[derive(Default)]
struct Paths(BTreeSet<String>);

impl Paths {
    fn use_tree(&mut self, tree: &syn::UseTree, prefix: &str) {
        let join = |name: &syn::Ident| if prefix.is_empty() { name.to_string() } else { format!("{prefix}::{name}") };
        match tree {
            syn::UseTree::Path(p) => self.use_tree(&p.tree, &join(&p.ident)),
            syn::UseTree::Name(n) => drop(self.0.insert(join(&n.ident))),
            syn::UseTree::Rename(r) => drop(self.0.insert(join(&r.ident))),
            syn::UseTree::Glob(_) => drop(self.0.insert(format!("{prefix}::*"))),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.use_tree(t, prefix)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&item.tree, "");
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let text = path.segments.iter().map(|s| s.ident.to_string()).collect::<Vec<_>>().join("::");
        self.0.insert(text);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }
}

fn paths(source: &Source) -> BTreeSet<String> {
    let mut found = Paths::default();
    found.visit_file(&source.tree);
    found.0
}

fn is_test_file(source: &Source) -> bool {
    source.name.ends_with("/tests.rs") || source.name.ends_with("_tests.rs")
}

fn room(name: &str) -> Option<&str> {
    name.split_once('/').map(|(room, _)| room)
}

fn level(room: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == room).map(|(_, level)| *level)
}

#[test]
fn imports_go_down_only() {
    let mut wrong = String::new();
    for source in sources().iter().filter(|s| !is_test_file(s)) {
        let Some(here) = room(&source.name) else { continue };
        if here == "bin" {
            continue;
        }
        let at = level(here).unwrap_or_else(|| panic!("the room {here} has no level in tests/architecture.rs"));
        for path in paths(source) {
            let Some(there) = path.strip_prefix("crate::").and_then(|p| p.split("::").next()) else { continue };
            let Some(below) = level(there) else { continue };
            if there != here && below >= at {
                writeln!(wrong, "{} (level {at}) imports {path} (level {below})", source.name).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "imports that do not go down:\n{wrong}");
}

#[test]
fn files_stay_small() {
    let mut long = String::new();
    for source in sources().iter().filter(|s| !is_test_file(s)) {
        let lines = source.text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).count();
        if lines > FILE_LINES {
            writeln!(long, "{}: {lines} lines", source.name).unwrap();
        }
    }
    assert!(long.is_empty(), "files over {FILE_LINES} lines without tests; split them by idea:\n{long}");
}

#[test]
fn each_effect_has_its_place() {
    let mut wrong = String::new();
    for source in sources().iter().filter(|s| !is_test_file(s)) {
        for path in paths(source) {
            for (what, allowed, why) in PLACES {
                let names =
                    path == *what || path.ends_with(&format!("::{what}")) || path.starts_with(&format!("{what}::"));
                let inside = path.contains(&format!("::{what}::"));
                if (names || inside) && !allowed.iter().any(|place| source.name.starts_with(place)) {
                    writeln!(wrong, "{} names {path}: {why}", source.name).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "effects out of their places:\n{wrong}");
}

#[test]
fn the_map_has_no_re_exports() {
    let map = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let code: Vec<&str> = map.lines().filter(|l| !l.starts_with("//!") && !l.is_empty()).collect();
    assert!(code.iter().all(|l| l.starts_with("pub mod ") && l.ends_with(';')), "{code:?}");
}

#[test]
fn the_program_starts_in_few_lines() {
    let main = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    assert!(main.lines().count() <= 15, "src/main.rs has {} lines", main.lines().count());
}

#[test]
fn invariants_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/invariants.md")).unwrap();
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    collect(&root.join("tests"), &mut files);
    let code: String = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let named: Vec<&str> = page.split('`').filter(|t| t.starts_with("i_")).collect();
    assert!(!named.is_empty(), "docs/invariants.md names no test");
    for row in page.lines().filter(|line| line.starts_with("| I-")) {
        let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default().trim();
        assert!(proof.contains("`i_") || proof.starts_with("later"), "nothing proves this: {row}");
    }
    for name in named {
        assert!(code.contains(&format!("fn {name}(")), "docs/invariants.md names {name}, which is no test");
    }
}
