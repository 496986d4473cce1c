//! Names that a script chose, or a server for it: of checks, groups, scenarios and metrics.

use std::collections::BTreeMap;

use knee_core::metric::{Check, Contains, Group, Key, Kind, Place, Series, Sink, Threshold};
use knee_core::record::Run;
use knee_report::clean::is_hostile;
use knee_report::text::{self, Style};
use knee_report::{View, csv, html, json};
use serde_json::Value;

use super::fixture;

/// Names, each with the first characters that a terminal shows of it.
fn bites() -> [(String, &'static str); 5] {
    [
        ("<script>alert(1)</script>".to_owned(), "<script>alert(1)</script>"),
        (
            "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\nFORGED".to_owned(),
            "\\x1b[2J\\x1b]0;owned\\x07\\u{9b}31m\\r\\nFORGED",
        ),
        ("abc\u{202e}gpj.exe\u{200b}".to_owned(), "abc\\u{202e}gpj.exe\\u{200b}"),
        ("=HYPERLINK(\"http://evil.test/\")".to_owned(), "=HYPERLINK(\"http://evil.test/\")"),
        ("é".repeat(5_000), "éééééééé"),
    ]
}

/// A run whose script names everything `bite`.
fn bitten(bite: &str) -> Run {
    let mut run = fixture::healthy_open();
    let check = Check { first: 1, passes: 2, fails: 1 };
    for scenario in [None, Some(bite.to_owned())] {
        for group in [String::new(), format!("::{bite}")] {
            let checks = BTreeMap::from([(bite.to_owned(), check)]);
            let place = Place { scenario: scenario.clone(), group: group.clone() };
            run.metrics.groups.insert(place, Group { first: 1, checks });
        }
        for filter in [String::new(), format!("a:{bite}")] {
            let key = Key { metric: bite.to_owned(), filter, scenario: scenario.clone(), group: None };
            let series = Series { contains: Contains::Default, adds: None, sink: Sink::new(Kind::Counter) };
            run.metrics.series.insert(key, series);
        }
    }
    let (metric, expression) = (bite.to_owned(), format!("p(95)<{bite}"));
    run.metrics.thresholds.push(Threshold { metric, expression, value: 3.0, holds: false });
    bite.clone_into(&mut run.head.title);
    bite.clone_into(&mut run.head.plan.scenarios[0].name);
    run
}

fn assert_harmless(text: &str, bite: &str) {
    let acting: Vec<char> = text.chars().filter(|c| *c != '\n' && is_hostile(*c)).collect();
    assert_eq!(acting, [], "{bite:?}");
    assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{text}");
}

#[test]
fn names_of_a_script_cannot_act_on_the_terminal_and_take_one_line() {
    let lines_of = |bite: &str| {
        let text = text::render(&View::of(&bitten(bite)), &Style::default());
        assert_harmless(&text, bite);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = lines_of("plain").len();
    for (bite, shown) in bites() {
        let lines = lines_of(&bite);
        assert_eq!(lines.len(), plain, "{bite:?}: {lines:#?}");
        // The threshold, the check, the check in the group, and the metric.
        let begun: String = shown.chars().take(8).collect();
        let rows = lines.iter().filter(|line| line.starts_with(&format!("  {begun}"))).count();
        assert_eq!(rows, 4, "{bite:?}: {lines:#?}");
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= Style::default().width, "{bite:?}: {longest}");
    }
}

#[test]
fn names_of_a_script_stay_what_they_are_in_json() {
    for (bite, _) in bites() {
        let text = json::render(&View::of(&bitten(&bite)));
        assert_harmless(&text, &bite);
        let document: Value = serde_json::from_str(&text).unwrap();
        let (checks, metrics) =
            (document["checks"].as_array().unwrap(), document["metrics"].as_array().unwrap());
        assert_eq!((checks.len(), metrics.len()), (4, 4));
        assert!(checks.iter().all(|check| check["check"] == bite));
        assert!(
            checks.iter().any(|check| check["group"] == format!("::{bite}") && check["scenario"] == bite)
        );
        assert!(metrics.iter().all(|metric| metric["metric"] == bite));
    }
}

#[test]
fn names_of_a_script_are_neither_formulas_nor_rows_in_csv() {
    for (bite, _) in bites() {
        let run = bitten(&bite);
        let text = csv::render(&View::of(&run));
        assert_harmless(&text.replace("\r\n", "\n"), &bite);
        let rows = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let rows: Vec<_> = rows.into_records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), run.series.len() + 1, "{bite:?}");
        let signs = ['=', '+', '-', '@'];
        assert!(!rows.iter().flatten().any(|cell| cell.starts_with(signs) && cell.parse::<f64>().is_err()));
        assert!(text.len() < 100_000, "a name of 10 KB is not in every row: {}", text.len());
    }
}

#[test]
fn names_of_a_script_add_no_element_to_the_page() {
    let scripts = |bite: &str| {
        let page = html::run(&View::of(&bitten(bite)), None, &Style::default());
        page.matches("<script").count()
    };
    let plain = scripts("plain");
    for (bite, _) in bites() {
        assert_eq!(scripts(&bite), plain, "{bite:?}");
    }
}
