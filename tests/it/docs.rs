//! The documents say what the code says: reasons, fields, samples.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lamplighter::metrics::{FAMILIES, Family};
use lamplighter::model::{FailedReason, ReconcilingReason, SkippedReason, StalledReason, WaitingReason};
use lamplighter::{config, resources};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_reason_is_documented_with_its_meaning_and_remedy() {
    let page = read("docs/reference/reasons.md");
    let waiting = WaitingReason::ALL.iter().map(|r| (r.to_string(), r.meaning(), r.remedy()));
    let failed = FailedReason::ALL.iter().map(|r| (r.to_string(), r.meaning(), r.remedy()));
    let skipped = SkippedReason::ALL.iter().map(|r| (r.to_string(), r.meaning(), r.remedy()));
    let reconciling = ReconcilingReason::ALL.iter().map(|r| (r.to_string(), r.meaning(), r.remedy()));
    let stalled = StalledReason::ALL.iter().map(|r| (r.to_string(), r.meaning(), r.remedy()));
    let all = waiting.chain(failed).chain(skipped).chain(reconciling).chain(stalled);
    let rows: Vec<String> = all.map(|(n, m, r)| format!("| `{n}` | {m} | {r} |")).collect();
    let missing: Vec<_> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/reference/reasons.md lacks {missing:#?}");
    assert_eq!(page.matches("\n| `").count(), rows.len(), "and nothing else stands there");
}

#[test]
fn every_enum_of_reasons_is_among_the_documented_ones() {
    let source = read("src/model/reason.rs");
    let enums: Vec<&str> = source
        .split("\nreasons! {")
        .skip(1)
        .filter_map(|it| it.split(" {\n").next()?.split_whitespace().last())
        .collect();
    assert_eq!(
        enums,
        ["WaitingReason", "FailedReason", "SkippedReason", "ReconcilingReason", "StalledReason"],
        "see the test above"
    );
}

#[test]
fn every_metric_is_documented_as_it_describes_itself() {
    let page = read("docs/reference/metrics.md");
    let labels =
        |family: &Family| family.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
    let row = |family: &&Family| {
        format!("| `{}` | {} | {} | {} |", family.queried(), family.kind.name(), labels(family), family.help)
    };
    let rows: Vec<String> = FAMILIES.iter().map(row).collect();
    let documented: Vec<&str> = page.lines().filter(|line| line.starts_with("| `lamplighter_")).collect();
    assert_eq!(documented, rows, "docs/reference/metrics.md");
    for name in FAMILIES.iter().flat_map(|family| family.labels).filter(|label| **label != "version") {
        let label = format!("`{name}`");
        let has_row = |line: &str| line.starts_with("| `") && line.split(" | ").next().unwrap().contains(&label);
        assert!(page.lines().any(has_row), "docs/reference/metrics.md lacks the values of {label}");
    }
}

#[test]
fn what_operations_says_of_metrics_is_about_those_that_there_are() {
    let known: BTreeSet<String> = FAMILIES.iter().map(|family| family.queried()).collect();
    for path in ["docs/operations.md", "docs/kubernetes.md", "docs/measurements.md", "README.md"] {
        let page = read(path);
        for (at, _) in page.match_indices("lamplighter_") {
            let name: String = page[at..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let base = ["_bucket", "_sum", "_count"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
            assert!(known.contains(base.unwrap_or(&name)), "{path} names {name}");
        }
    }
}

#[test]
fn every_field_of_a_manifest_is_documented() {
    let page = read("docs/reference/rollout.md");
    for crd in resources::crds() {
        let yaml: serde_json::Value = serde_yaml::from_str(&crd.yaml().unwrap()).unwrap();
        let spec = &yaml["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let fields = leaves(spec, "");
        assert!(!fields.is_empty());
        let missing: Vec<_> = fields.iter().filter(|field| !page.contains(&format!("| `{field}` |"))).collect();
        assert!(missing.is_empty(), "docs/reference/rollout.md lacks {missing:?}");
    }
}

#[test]
fn every_field_of_a_site_file_is_documented_and_whether_it_waits_for_a_restart() {
    let page = read("docs/reference/site-file.md");
    for (field, live) in config::SiteConfig::fields() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{field}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/reference/site-file.md lacks {field}"));
        assert_eq!(row.contains("| restart |"), !live, "{row}");
        assert_eq!(row.contains("| at once |"), live, "{row}");
    }
}

#[test]
fn the_sample_site_file_is_accepted() {
    let site = config::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware-samples/site.yaml"));
    assert_eq!(site.unwrap().site, "sample");
}

#[test]
fn every_rule_names_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    for room in ["src", "tests"] {
        sources(&root.join(room), &mut |text| {
            let after = text.split("#[test]").skip(1).filter_map(|test| test.split_once("fn "));
            tests.extend(after.filter_map(|(_, test)| test.split_once('(')).map(|(name, _)| name.to_owned()));
        });
    }
    // properties are made by a macro, of their names
    let properties = read("tests/sim/props.rs");
    tests.extend(properties.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map(str::to_owned));
    let page = read("docs/reference/rules.md");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule |")).collect();
    assert!(rows.len() > 70, "{} rules", rows.len());
    for row in rows {
        let (_, shown) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        let names: Vec<_> = shown.split(", ").map(|name| name.trim_matches('`')).collect();
        let missing: Vec<_> = names.iter().filter(|name| !tests.contains(**name)).collect();
        assert!(missing.is_empty(), "docs/reference/rules.md names {missing:?}, which is no test");
    }
}

/// Every Rust source under a directory.
fn sources(dir: &Path, each: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => sources(&path, each),
            path if path.extension().is_some_and(|it| it == "rs") => each(&fs::read_to_string(path).unwrap()),
            _ => {}
        }
    }
}

/// The paths of the fields that hold a value, `a.b[].c` for those of a list's items.
fn leaves(schema: &serde_json::Value, path: &str) -> Vec<String> {
    let dot = if path.is_empty() { "" } else { "." };
    if let Some(properties) = schema["properties"].as_object() {
        return properties.iter().flat_map(|(name, field)| leaves(field, &format!("{path}{dot}{name}"))).collect();
    }
    let items = &schema["items"];
    let mut found = vec![path.to_owned()];
    if items["properties"].is_object() {
        found.extend(leaves(items, &format!("{path}[]")));
    }
    found
}
