//! What is saved, as a page: the changes that last come first, and hostile names stay text.

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::history::{Entry, Figures, History, json, trends};
use knee_report::html;

use super::page::Page;

/// A run of the line `name`, the `place`-th of it.
fn entry(name: &str, place: u64, p50_ms: f64) -> Entry {
    // Two runs of the same state are not equal.
    let noise = 1.0 + 0.01 * ((place * 7 % 5) as f64 - 2.0);
    Entry {
        record: format!("20261121T1015{place:02}.000Z-{name}"),
        name: name.to_owned(),
        kind: "run".to_owned(),
        at: Nanos::from_secs(1_795_000_000 + place),
        title: "http://host/".to_owned(),
        load: "300/s, 10.0 s".to_owned(),
        machine: "2 CPUs".to_owned(),
        answer: format!("Goodput 300.0/s, response time p50 {p50_ms} ms"),
        validity: Some(Validity::Valid),
        likeness: Some(7),
        figures: Figures { goodput: Some(300.0 * noise), p50_s: Some(p50_ms / 1e3 * noise), p99_s: None },
    }
}

/// A line of runs that became slower in its middle.
fn slower(name: &str) -> History {
    let mut entries: Vec<Entry> =
        (0..24).map(|place| entry(name, place, if place < 12 { 2.0 } else { 4.0 })).collect();
    entries.reverse();
    let found = trends(&entries);
    History {
        entries,
        older: 3,
        trends: Some(found),
        skipped: vec![("x.knee".to_owned(), "no record".to_owned())],
    }
}

/// Pages of every kind, for the tests of all pages.
pub fn pages() -> Vec<(String, String)> {
    let hostile = slower("<script>alert(1)</script>\u{202e}\u{1b}[2J");
    let short = History { entries: vec![entry("a", 1, 2.0), entry("a", 0, 2.0)], ..History::default() };
    let short = History { trends: Some(trends(&short.entries)), ..short };
    let all = [
        ("changed", slower("checkout")),
        ("hostile", hostile),
        ("short", short),
        ("empty", History::default()),
    ];
    let served = all.clone().map(|(name, history)| {
        let search = if name == "hostile" { "<script>\"'" } else { "" };
        (format!("served history, {name}"), html::served_history(&history, search))
    });
    let files = all.map(|(name, history)| (format!("history, {name}"), html::history(&history)));
    files.into_iter().chain(served).collect()
}

fn page(name: &str) -> Page {
    let name = format!("history, {name}");
    let (_, html) = pages().into_iter().find(|(known, _)| *known == name).unwrap();
    Page::read(&html)
}

#[test]
fn a_change_that_lasts_is_the_answer_with_the_run_from_which_it_lasts() {
    let page = page("changed");
    assert_eq!(page.of_class("answer")[0].text, "One figure has changed persistently.");
    let point = &page.of_class("points")[0].text;
    assert!(point.starts_with("checkout p50: 2.00 ms to 4.00 ms, 2.00× (95 % CI "), "{point}");
    assert!(point.ends_with("from 20261121T101512.000Z-checkout on"), "{point}");
    let rows = page.all("tr").len();
    assert_eq!(rows, 25, "a header and each run");
    let text: String = page.all("section").iter().map(|section| section.text.as_str()).collect();
    assert!(text.contains("3 more are older.") && text.contains("x.knee: no record"), "{text}");
}

#[test]
fn without_enough_runs_the_page_says_what_a_change_needs() {
    assert_eq!(
        page("short").of_class("answer")[0].text,
        "No answer yet: a persistent change needs 6 runs on each side."
    );
    assert_eq!(page("empty").of_class("answer")[0].text, "Nothing is saved.");
}

#[test]
fn the_document_is_as_its_schema_says() {
    let schema = include_str!("../../../../docs/reference/history.schema.json");
    let validator = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    let result = Entry { kind: "sweep".to_owned(), validity: None, likeness: None, ..entry("a", 1, 2.0) };
    let changed = slower("checkout");
    assert!(changed.trends.iter().flatten().any(|trend| trend.changes.is_some()), "there is a change");
    let without_trends = History { entries: vec![result], ..History::default() };
    for history in [changed, slower("<b>\u{202e}"), without_trends, History::default()] {
        let document = serde_json::from_str(&json(&history)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn a_served_list_comes_first_and_its_runs_can_be_opened_and_chosen() {
    let page = page_of_server("changed");
    assert_eq!(page.all("section")[0].get("id"), Some("saved"));
    let paths: Vec<&str> = page.all("a").iter().filter_map(|link| link.get("href")).collect();
    assert!(paths.contains(&"/result/20261121T101512.000Z-checkout"), "{paths:?}");
    let choices = page.all("input").iter().filter(|input| input.get("name") == Some("run")).count();
    assert_eq!(choices, 24);
}

fn page_of_server(name: &str) -> Page {
    let name = format!("served history, {name}");
    let (_, html) = pages().into_iter().find(|(known, _)| *known == name).unwrap();
    Page::read(&html)
}

#[test]
fn the_list_comes_before_the_trends() {
    for page in [page("changed"), page_of_server("changed")] {
        let sections: Vec<&str> = page.all("section").iter().filter_map(|one| one.get("id")).collect();
        assert_eq!(sections[..2], ["saved", "trend-1"]);
        let list = page.elements.iter().position(|one| one.get("id") == Some("saved")).unwrap();
        let picture = page.elements.iter().position(|one| one.name == "svg").unwrap();
        assert!(list < picture, "no picture is above the list");
    }
}

#[test]
fn two_runs_are_no_trend_and_the_page_says_so_in_a_line() {
    let page = page("short");
    assert!(page.all("svg").is_empty(), "nothing is drawn");
    let text = &page.of_class("note")[0].text;
    assert_eq!(text, "One group of like runs has fewer than 3 runs that count; a trend needs 3.");
}

#[test]
fn a_page_of_ten_thousand_runs_has_at_most_300_kb_beside_its_data_and_every_dot_is_a_median() {
    let mut entries: Vec<Entry> = (0..10_000)
        .map(|place| entry(&format!("service-{}", place % 4), place, if place < 9_600 { 2.0 } else { 4.0 }))
        .collect();
    entries.reverse();
    let found = trends(&entries);
    let page = html::history(&History { entries, trends: Some(found), ..History::default() });
    let beside = page.split_once("<script").map_or(&*page, |(before, _)| before);
    assert!(beside.len() < 300_000, "{} bytes", beside.len());
    assert!(beside.contains("Each dot is the median of "), "and the page says so");
    let answer = beside.split("class=\"answer\"").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(answer, ">4 persistent changes of figures.");
}
