//! Who may use whom, read from the source: the map in CONTRIBUTING.md is true.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms it may use beside itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("engine", &["model"]),
    ("resources", &["model"]),
    ("store", &["model"]),
    ("inside", &[]),
    ("names", &[]),
    ("artifact", &["model", "inside", "names"]),
    ("authority", &["model"]),
    ("device", &["model"]),
    ("gate", &["model", "names"]),
    ("intake", &["model", "resources", "inside"]),
    ("kube", &["model", "resources"]),
    ("metrics", &["model"]),
    ("config", &["model", "resources"]),
    (
        "site",
        &[
            "model",
            "engine",
            "resources",
            "store",
            "artifact",
            "authority",
            "device",
            "gate",
            "intake",
            "kube",
            "metrics",
            "config",
        ],
    ),
    ("world", &["model", "engine", "resources", "store", "device", "intake", "config", "site"]),
    (
        "cli",
        &[
            "model",
            "engine",
            "resources",
            "store",
            "artifact",
            "authority",
            "device",
            "gate",
            "intake",
            "kube",
            "metrics",
            "config",
            "site",
            "world",
        ],
    ),
];
/// The library's and the binary's first files: they only name the rooms, or start one thing.
const FRONT_DOORS: &[&str] = &["lib.rs", "main.rs"];
/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helpers", "manager", "misc"];
const LONGEST_FILE: usize = 500;

/// A source file: its path below `src`, and its text.
struct Source {
    path: String,
    text: String,
}

#[test]
fn the_rooms_use_each_other_only_as_the_map_allows() {
    let wrong: Vec<String> = sources().iter().flat_map(forbidden_uses).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_owns_and_every_room_what_it_must_never_do() {
    let wrong: Vec<String> = sources().iter().flat_map(missing_words).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_small_and_named_by_what_is_inside() {
    let wrong: Vec<String> = sources().iter().flat_map(shapeless).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_forbidden_use_is_found_however_it_is_written() {
    let found = |text: &str| forbidden_uses(&source("store/redb.rs", text)).len();
    assert_eq!(found("use crate::engine::State;"), 1);
    assert_eq!(found("pub use crate::engine;"), 1);
    assert_eq!(found("use crate::{model::Digest, engine::{State, Draft}};"), 1);
    assert_eq!(found("use crate::{\n    device,\n    engine as e,\n    model::{Digest, Version},\n};"), 2);
    assert_eq!(found("fn f() { let x = crate::site::Core::new(); }"), 1);
    assert_eq!(found("use lamplighter::device::Board;"), 1);
    assert_eq!(found("use crate::*;"), 1, "a glob hides what is used");
    assert_eq!(found("mod tests { use crate::intake::Watch; }"), 1, "tests too");
    assert_eq!(found("use super::super::engine::State;"), 1);
    assert_eq!(found("use crate::model::Digest;\nuse crate::store::record::Key;\nuse super::record;"), 0);
    assert_eq!(found("let url = \"http://{}\"; crate::engine::f();"), 1);
    assert_eq!(found("macro_rules! m { () => { $crate::engine::f() } }"), 1);
    assert_eq!(found("mod tests { use super::super::record; }"), 0);
    assert_eq!(found("// crate::engine must not be used here"), 0);
    assert_eq!(found("/// See [`crate::engine`].\nfn f() {}"), 0);
    assert_eq!(forbidden_uses(&source("attic/mod.rs", "")).len(), 1, "a room that is not on the map");
    assert_eq!(forbidden_uses(&source("config.rs", "use crate::site::run;")).len(), 1);
    assert_eq!(forbidden_uses(&source("site/run.rs", "use crate::{device, engine, store};")).len(), 0);
    assert_eq!(forbidden_uses(&source("cli/run.rs", "use crate::site;")).len(), 0);
}

#[test]
fn a_silent_file_a_shapeless_name_and_a_long_file_are_found() {
    assert_eq!(missing_words(&source("store/key.rs", "use std::fmt;")).len(), 1);
    assert_eq!(missing_words(&source("store/key.rs", "//! Keys.")).len(), 0);
    assert_eq!(missing_words(&source("store/mod.rs", "//! Records.\n\nmod key;")).len(), 1);
    assert_eq!(missing_words(&source("store/mod.rs", "//! Owns records. Must never\n//! decide.\nmod key;")).len(), 0);
    assert_eq!(shapeless(&source("store/util.rs", "")).len(), 1);
    assert_eq!(shapeless(&source("common/key.rs", "")).len(), 1);
    assert_eq!(shapeless(&source("store/session_manager.rs", "")).len(), 1);
    assert_eq!(shapeless(&source("store/key.rs", &"\n".repeat(LONGEST_FILE + 1))).len(), 1);
    assert_eq!(shapeless(&source("store/key.rs", &"\n".repeat(LONGEST_FILE))).len(), 0);
}

/// Everything a file uses that its room may not.
fn forbidden_uses(source: &Source) -> Vec<String> {
    let room = room(&source.path);
    if FRONT_DOORS.contains(&room) {
        return Vec::new();
    }
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        return vec![format!("src/{}: no room {room:?} on the map; add it to CONTRIBUTING.md and here", source.path)];
    };
    let forbidden = |used: &&String| used.as_str() != room && !allowed.contains(&used.as_str());
    let complaint = |used: &String| format!("src/{}: {room} must not use {used}", source.path);
    used_rooms(source).iter().filter(forbidden).map(complaint).collect()
}

/// The first step of every path that starts at the crate's root, out of code; `*` for a glob.
fn used_rooms(source: &Source) -> BTreeSet<String> {
    let code: String = source.text.lines().map(|line| without_comment(line) + "\n").collect();
    let mut used = BTreeSet::new();
    for root in ["crate::", "lamplighter::", &"super::".repeat(depth(&source.path))] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            let part_of_a_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':');
            if part_of_a_word {
                continue;
            }
            let steps = first_steps(&code[at + root.len()..]);
            // Inside an inline module so many `super` end one level below the root: there only rooms count.
            let by_name = !root.starts_with("super");
            used.extend(steps.into_iter().filter(|step| by_name || MAY_USE.iter().any(|(name, _)| name == step)));
        }
    }
    used
}

/// How many `super` lead from a file to the crate's root.
fn depth(path: &str) -> usize {
    let steps = path.split('/').count();
    if path.ends_with("mod.rs") { steps - 1 } else { steps }
}

/// `model::Digest…` gives `model`; `{model::…, engine as e}` gives both.
fn first_steps(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else { return first_step(path).into_iter().collect() };
    let mut steps = Vec::new();
    let mut nested = 0_usize;
    let mut start = 0;
    for (at, c) in group.char_indices() {
        match c {
            '{' => nested += 1,
            '}' if nested > 0 => nested -= 1,
            ',' | '}' if nested == 0 => {
                steps.extend(first_step(group[start..at].trim()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    steps
}

/// Only modules count: a path to one of the root's macros is nobody's room.
fn first_step(path: &str) -> Option<String> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    match (&path[..end], path[end..].chars().next()) {
        ("", Some('*')) => Some("*".into()),
        ("" | "self", _) | (_, Some('!')) => None,
        (step, _) => Some(step.to_owned()),
    }
}

fn without_comment(line: &str) -> String {
    let starts = line.match_indices("//").map(|(at, _)| at).find(|at| line[..*at].trim_end().len() < *at || *at == 0);
    line[..starts.unwrap_or(line.len())].to_owned()
}

/// A file without a first word, or a room's front without its promise.
fn missing_words(source: &Source) -> Vec<String> {
    let opening: Vec<&str> = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
    let mut wrong = Vec::new();
    if opening.is_empty() {
        wrong.push(format!("src/{}: opens without `//!` and what it owns", source.path));
    }
    let is_front = source.path.ends_with("/mod.rs") && source.path.matches('/').count() == 1;
    let words = opening.iter().map(|line| line.trim_start_matches("//!").trim()).collect::<Vec<_>>().join(" ");
    if is_front && !words.is_empty() && !words.to_lowercase().contains("must never") {
        wrong.push(format!("src/{}: a room's front says what it \"must never\" do", source.path));
    }
    wrong
}

fn shapeless(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    let words: Vec<&str> = source.path.trim_end_matches(".rs").split(['/', '_']).collect();
    if let Some(word) = words.iter().find(|word| EMPTY_NAMES.contains(word)) {
        wrong.push(format!("src/{}: {word:?} does not say what is inside", source.path));
    }
    let lines = source.text.lines().count();
    if lines > LONGEST_FILE {
        wrong.push(format!("src/{}: {lines} lines; {LONGEST_FILE} are enough for one idea", source.path));
    }
    wrong
}

/// `store/key.rs` belongs to `store`, `config.rs` to `config`.
fn room(path: &str) -> &str {
    if FRONT_DOORS.contains(&path) {
        return path;
    }
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

/// Every Rust file below `src`.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(source(&name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 10, "the source is where it should be");
    found
}
