//! What observers write, by `docs/reference/observations.md`: names of figures and texts, and their kinds.
//!
//! Tests alone use it. Each time that a rule asks for a figure while a test runs, the page must have it with the kind
//! that the rule reads, or the rule would be silent in all real records. Does not know units: figures have none that a
//! rule could ask for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use knee_core::observation::SeriesKind;

const PAGE: &str = include_str!("../../../docs/reference/observations.md");

/// Names of pages of metrics are those of the service. The library `knee-sqlite` has fixed ones.
const METRICS: &str = "prometheus.";
const SQLITE: &str = "prometheus.knee_sqlite_";

/// Before the name of a text. A line can end between both.
const TEXTS: [&str; 3] = ["Text `", "text `", "Text\n`"];

/// The page.
#[derive(Debug)]
struct Page {
    kinds: BTreeMap<&'static str, SeriesKind>,
    texts: BTreeSet<&'static str>,
}

impl Page {
    fn read() -> &'static Self {
        static READ: OnceLock<Page> = OnceLock::new();
        READ.get_or_init(|| Self {
            kinds: PAGE.lines().filter_map(row).flatten().collect(),
            texts: TEXTS.iter().flat_map(|begin| PAGE.split(*begin).skip(1)).filter_map(name).collect(),
        })
    }
}

/// The names and the kind of a row: names, label, unit, kind, meaning. A label can contain `\|`.
fn row(line: &'static str) -> Option<Vec<(&'static str, SeriesKind)>> {
    let names = line.strip_prefix("| `")?.split(" |").next()?;
    let kind = line.replace("\\|", "/").split('|').nth(4).map(str::trim).and_then(|kind| match kind {
        "counter" => Some(SeriesKind::Counter),
        "gauge" => Some(SeriesKind::Gauge),
        _ => None,
    })?;
    // The first mark was taken away.
    Some(names.split('`').step_by(2).filter(|name| !name.is_empty()).map(|name| (name, kind)).collect())
}

fn name(behind: &'static str) -> Option<&'static str> {
    behind.split('`').next()
}

/// Fails unless an observer writes a figure of this name and kind.
#[track_caller]
pub(crate) fn asks(name: &str, kind: SeriesKind) {
    let written = match name.strip_prefix(SQLITE) {
        Some(metric) => Page::read().kinds.get(metric),
        None if name.starts_with(METRICS) => return,
        None => Page::read().kinds.get(name),
    };
    assert_eq!(
        written,
        Some(&kind),
        "{name} is not so in docs/reference/observations.md: no observer writes it"
    );
}

/// Fails unless an observer writes a text of this name.
#[track_caller]
pub(crate) fn asks_text(name: &str) {
    let is_written = Page::read().texts.contains(name);
    assert!(is_written, "the text {name} is not in docs/reference/observations.md: no observer writes it");
}

mod tests {
    use super::*;

    #[test]
    fn the_page_of_observations_is_read_with_names_kinds_and_texts() {
        let page = Page::read();
        for (name, kind) in [
            ("statement.calls", SeriesKind::Counter),
            ("statement.rows", SeriesKind::Counter),
            ("activity.idle_age.oldest", SeriesKind::Gauge),
            ("redis.command.calls", SeriesKind::Counter),
            ("busy_total", SeriesKind::Counter),
        ] {
            assert_eq!(page.kinds.get(name), Some(&kind), "{name}");
        }
        assert!(page.kinds.len() > 250, "{}", page.kinds.len());
        for name in ["statement.plan", "redis.slow", "table.partition_of", "setting"] {
            assert!(page.texts.contains(name), "{name}: {:?}", page.texts);
        }
        asks("prometheus.http_requests_total", SeriesKind::Gauge);
    }

    #[test]
    #[should_panic(expected = "no observer writes it")]
    fn a_rule_that_asks_for_a_counter_as_a_level_fails_its_tests() {
        asks("statement.calls", SeriesKind::Gauge);
    }

    #[test]
    #[should_panic(expected = "no observer writes it")]
    fn a_rule_that_asks_for_a_name_that_is_written_otherwise_fails_its_tests() {
        asks("redis.client.samples", SeriesKind::Counter);
    }
}
