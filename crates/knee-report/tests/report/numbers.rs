//! The figures of a page against the JSON document that the page carries, read as a person reads them: by row, by column
//! and to the last digit that is shown.
//!
//! Does not use the code that writes figures. Sentences are those of the terminal, which other tests compare.

use serde_json::Value;

use super::page::{Element, Page};

/// Units of times, as they are written and in ms.
const UNITS: [(&str, f64); 5] = [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("min", 6e4)];

/// A table as it is read.
#[derive(Debug)]
struct Table {
    caption: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The cells of a column.
    fn column(&self, name: &str) -> Vec<&str> {
        let place = self.header.iter().position(|one| one == name);
        let place =
            place.unwrap_or_else(|| panic!("{}: no column `{name}` in {:?}", self.caption, self.header));
        self.rows.iter().map(|row| row[place].as_str()).collect()
    }
}

fn tables(page: &Page) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut in_body = false;
    for Element { name, text, .. } in &page.elements {
        let text = || text.split_whitespace().collect::<Vec<_>>().join(" ");
        if name == "table" {
            tables.push(Table { caption: String::new(), header: Vec::new(), rows: Vec::new() });
        }
        let Some(table) = tables.last_mut() else { continue };
        match (name.as_str(), in_body) {
            ("caption", _) => table.caption = text(),
            ("thead", _) => in_body = false,
            ("tbody", _) => in_body = true,
            ("tr", true) => table.rows.push(Vec::new()),
            ("th" | "td", true) => table.rows.last_mut().unwrap().push(text()),
            ("th" | "td", false) => table.header.push(text()),
            _ => {}
        }
    }
    tables
}

/// The document that a page carries.
fn document(page: &Page) -> Value {
    let data = page.elements.iter().find(|element| element.get("id") == Some("knee-data")).unwrap();
    serde_json::from_str(&data.text).unwrap()
}

/// A figure as it is shown, and half of its last digit; `None` for one that is not known.
fn figure(shown: &str) -> Option<(f64, f64)> {
    let digits: String = shown.trim_start_matches("≥ ").chars().filter(|sign| *sign != ',').collect();
    let digits = digits.split(' ').next().unwrap();
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some((value, 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap())))
}

/// Whether a shown figure is the one of the document, in units of `unit`.
fn agrees(shown: &str, exact: &Value, unit: f64) -> bool {
    match (figure(shown), exact.as_f64()) {
        (None, None) => shown.starts_with('–'),
        (Some((value, half)), Some(exact)) => (exact / unit - value).abs() <= half * (1.0 + 1e-6) + 1e-9,
        // Times above zero that are too short for the digits.
        (None, Some(exact)) => shown.starts_with("< ") && exact / unit < 1.0,
        (Some(_), None) => false,
    }
}

/// Compares all figures of a table that are times: there must be one unit in which all of them agree.
fn assert_times(name: &str, pairs: &[(String, Value)]) {
    let wrong = |unit: f64| pairs.iter().filter(move |(shown, exact)| !agrees(shown, exact, unit));
    let best = UNITS.iter().min_by_key(|(_, unit)| wrong(*unit).count()).unwrap();
    let differing: Vec<_> = wrong(best.1).collect();
    assert!(differing.is_empty(), "{name}: in {}, {differing:?}", best.0);
}

fn pairs<'p>(shown: Vec<&'p str>, exact: impl Iterator<Item = &'p Value>) -> Vec<(String, Value)> {
    shown.into_iter().map(str::to_owned).zip(exact.cloned()).collect()
}

/// Rows are figures of a distribution, columns are distributions.
fn check_times(name: &str, table: &Table, document: &Value) {
    let mut all = Vec::new();
    for (place, head) in table.header.iter().enumerate().skip(1) {
        let distribution = match head.as_str() {
            "response time" => &document["response_time_ms"],
            "service time" => &document["service_time_ms"],
            "send delay" => &document["send_delay_ms"],
            "response, ok only" => &document["ok_only"]["response_time_ms"],
            other => panic!("{name}: the column `{other}` is compared with nothing"),
        };
        all.extend(table.rows.iter().map(|row| (row[place].clone(), distribution[row[0].as_str()].clone())));
    }
    assert_times(name, &all);
}

fn check_endpoints(name: &str, table: &Table, document: &Value) {
    let endpoints = document["endpoints"].as_array().unwrap();
    let found: Vec<&Value> = table
        .rows
        .iter()
        .map(|row| {
            let is_it = |endpoint: &&Value| {
                let known =
                    endpoint["name"].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
                known.starts_with(row[0].split(' ').next().unwrap())
                    && known.ends_with(row[0].split(' ').next_back().unwrap())
            };
            let mut candidates = endpoints.iter().filter(is_it);
            let one = candidates.next().unwrap_or_else(|| panic!("{name}: `{}` is no endpoint", row[0]));
            assert!(candidates.next().is_none(), "{name}: `{}` is ambiguous", row[0]);
            one
        })
        .collect();
    let planned = pairs(table.column("requests"), found.iter().map(|one| &one["requests"]["planned"]));
    for (shown, exact) in &planned {
        assert!(agrees(shown, exact, 1.0), "{name}: {shown} is {exact}");
    }
    for (shown, one) in table.column("not ok").into_iter().zip(&found) {
        assert!(
            agrees(shown, &not_ok(&one["requests"]), 1.0),
            "{name}, not ok: {shown} of {}",
            one["requests"]
        );
    }
    let mut times = Vec::new();
    for (column, kind, figure) in [
        ("mean", "response_time_ms", "mean"),
        ("p50", "response_time_ms", "p50"),
        ("p90", "response_time_ms", "p90"),
        ("p99", "response_time_ms", "p99"),
        ("max", "response_time_ms", "max"),
        ("service p50", "service_time_ms", "p50"),
        ("service p99", "service_time_ms", "p99"),
    ] {
        times.extend(pairs(table.column(column), found.iter().map(|one| &one[kind][figure])));
    }
    assert_times(name, &times);
}

/// Requests that ended otherwise than ok, or not at all.
fn not_ok(counts: &Value) -> Value {
    let others = ["http_error", "transport_error", "timeout", "unsent", "censored"];
    others.iter().map(|outcome| counts[outcome].as_u64().unwrap()).sum::<u64>().into()
}

/// Rows are intervals, if there are few enough of them.
fn check_course(name: &str, table: &Table, document: &Value) -> bool {
    let series = document["series"].as_array().unwrap();
    if series.len() != table.rows.len() {
        return false;
    }
    for (column, figure) in
        [("scheduled/s", "scheduled_requests_per_s"), ("ok/s", "goodput_per_s"), ("in flight", "in_flight")]
    {
        for (shown, exact) in pairs(table.column(column), series.iter().map(|one| &one[figure])) {
            assert!(agrees(&shown, &exact, 1.0), "{name}, {column}: {shown} is {exact}");
        }
    }
    for (shown, one) in table.column("not ok").into_iter().zip(series) {
        assert!(agrees(shown, &not_ok(one), 1.0), "{name}, not ok: {shown} of {one}");
    }
    let unit = table.header.iter().find_map(|head| head.strip_prefix("response p50, ")).unwrap().to_owned();
    let scale = UNITS.iter().find(|(name, _)| *name == unit).unwrap().1;
    for (kind, figure) in [("response", "p50"), ("response", "max"), ("service", "p50"), ("service", "max")] {
        let exact = series.iter().map(|one| &one[format!("{kind}_time_ms")][figure]);
        for (shown, exact) in pairs(table.column(&format!("{kind} {figure}, {unit}")), exact) {
            assert!(agrees(&shown, &exact, scale), "{name}, {kind} {figure}: {shown} {unit} is {exact} ms");
        }
    }
    true
}

/// The tiles of the first screen.
fn check_tiles(name: &str, page: &Page, document: &Value) -> usize {
    let mut tiles: Vec<(&str, &str, &str)> = Vec::new();
    for element in &page.elements {
        match element.name.as_str() {
            "dt" => tiles.push((&element.text, "", "")),
            "dd" if element.has_class("figure") => tiles.last_mut().unwrap().1 = &element.text,
            "dd" if element.has_class("beside") => tiles.last_mut().unwrap().2 = &element.text,
            _ => {}
        }
    }
    let mut checked = 0;
    for (head, shown, beside) in tiles.into_iter().filter(|(_, shown, _)| !shown.is_empty()) {
        let holds = if head == "Goodput" {
            agrees(shown.trim_end_matches("/s"), &document["goodput_per_s"], 1.0)
                && (beside.is_empty() || {
                    let scheduled = beside.trim_start_matches("of ").trim_end_matches("/s scheduled");
                    agrees(scheduled, &document["scheduled_requests_per_s"], 1.0)
                })
        } else if let Some(which) = head.strip_prefix("Response time ") {
            let unit = shown.rsplit(' ').next().unwrap();
            let scale = UNITS.iter().find(|(known, _)| *known == unit).unwrap().1;
            agrees(shown, &document["response_time_ms"][which], scale)
        } else if head == "Not ok" {
            let books = document["requests"].as_object().unwrap();
            let planned = books["planned"].as_u64().unwrap();
            let not_ok = planned - books["ok"].as_u64().unwrap();
            let counts: Vec<f64> =
                beside.split(' ').filter_map(|word| figure(word).map(|(value, _)| value)).collect();
            counts.first() == Some(&(not_ok as f64))
        } else {
            continue;
        };
        assert!(holds, "{name}: the tile `{head}` is {shown} {beside}");
        checked += 1;
    }
    checked
}

fn check_counts(name: &str, table: &Table, document: &Value) {
    for row in &table.rows {
        let exact = &document["status"][row[0].as_str()];
        assert!(agrees(&row[1], exact, 1.0), "{name}, status {}: {} is {exact}", row[0], row[1]);
    }
    let sum: f64 = document["status"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
    let shown: f64 = table.rows.iter().filter_map(|row| figure(&row[1])).map(|(count, _)| count).sum();
    assert!((sum - shown).abs() < 0.5, "{name}: {shown} responses have a status, and {sum} in the document");
}

fn check_histogram(name: &str, table: &Table, document: &Value) {
    let shown: f64 = table.rows.iter().filter_map(|row| figure(&row[1])).map(|(count, _)| count).sum();
    let exact = document["response_time_ms"]["count"].as_f64().unwrap();
    assert!((shown - exact).abs() < 0.5, "{name}: the bars have {shown} requests, and there are {exact}");
}

fn check_phases(name: &str, table: &Table, document: &Value) {
    let mut times = Vec::new();
    for row in &table.rows {
        let phase = &document["phases_ms"][row[0].as_str()];
        assert!(
            agrees(&row[4], &phase["count"], 1.0),
            "{name}, {}: {} is {}",
            row[0],
            row[4],
            phase["count"]
        );
        for (place, figure) in [(1, "mean"), (2, "p50"), (3, "max")] {
            times.push((row[place].clone(), phase[figure].clone()));
        }
    }
    assert_times(name, &times);
}

#[test]
fn every_figure_of_the_tables_and_tiles_of_a_run_is_the_one_of_its_json() {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for (name, html) in super::html::pages_of_runs() {
        let page = Page::read(&html);
        let document = document(&page);
        for table in tables(&page) {
            let what = format!("{name}, {}", table.caption);
            let is_compared = match table.caption.as_str() {
                "Response time, service time and send delay" => {
                    check_times(&what, &table, &document);
                    true
                }
                "Complete responses by status code" => {
                    check_counts(&what, &table, &document);
                    true
                }
                "How many requests took how long" => {
                    check_histogram(&what, &table, &document);
                    true
                }
                "How long the phases of requests took" => {
                    check_phases(&what, &table, &document);
                    true
                }
                "Figures of the run over time" => check_course(&what, &table, &document),
                // Names that would act on the page are written out there.
                "Endpoints with their response times" if name.starts_with("hostile") => false,
                "Endpoints with their response times" => {
                    check_endpoints(&what, &table, &document);
                    true
                }
                _ => false,
            };
            *seen.entry(table.caption).or_default() += u32::from(is_compared);
        }
        *seen.entry("tiles".to_owned()).or_default() +=
            u32::try_from(check_tiles(&name, &page, &document)).unwrap();
    }
    let compared: Vec<&String> =
        seen.iter().filter(|(_, count)| **count > 0).map(|(caption, _)| caption).collect();
    assert_eq!(compared.len(), 7, "each kind of figure is compared at least once: {seen:?}");
}

#[test]
fn every_change_of_a_comparison_and_its_interval_are_those_of_the_json() {
    let (_, html) = super::study::pages().into_iter().find(|(name, _)| name == "comparison").unwrap();
    let page = Page::read(&html);
    let document = document(&page);
    let metrics = document["metrics"].as_array().unwrap();
    let table = tables(&page).into_iter().find(|table| table.caption == "Changes by metric").unwrap();
    assert_eq!(table.rows.len(), metrics.len());
    for (row, metric) in table.rows.iter().zip(metrics) {
        assert_eq!(row[0], metric["metric"].as_str().unwrap());
        // "+29.9 % +29.8 % to +30.1 %": the change and the ends of its interval.
        let shown: Vec<&str> = row[2].split(['%', ' ']).filter(|word| figure(word).is_some()).collect();
        let change = &metric["change"];
        let exact = ["estimate", "low", "high"].map(|name| &change[name]);
        assert_eq!(shown.len(), exact.len(), "{}", row[2]);
        for (shown, exact) in shown.iter().zip(exact) {
            assert!(agrees(shown, exact, 0.01), "{}: {shown} is {exact}", row[0]);
        }
    }
}

#[test]
fn every_figure_of_the_steps_of_a_sweep_is_the_one_of_its_json() {
    let mut compared = 0;
    for (name, html) in super::sweep::pages() {
        let page = Page::read(&html);
        let document = document(&page);
        let steps = document["steps"].as_array().unwrap();
        let Some(table) = tables(&page).into_iter().find(|table| table.caption == "Steps of the sweep")
        else {
            continue;
        };
        assert_eq!(table.rows.len(), steps.len(), "{name}");
        for (shown, exact) in pairs(table.column("goodput/s"), steps.iter().map(|step| &step["goodput"])) {
            assert!(agrees(&shown, &exact, 1.0), "{name}: {shown} is {exact}");
        }
        for (shown, exact) in pairs(table.column("failed"), steps.iter().map(|step| &step["failed_share"])) {
            assert!(agrees(&shown, &exact, 0.01), "{name}: {shown} is {exact}");
        }
        for (shown, exact) in
            pairs(table.column("p50"), steps.iter().map(|step| &step["response_time_ms"]["p50"]))
        {
            let unit = shown.rsplit(' ').next().unwrap();
            let scale = UNITS.iter().find(|(known, _)| *known == unit).map_or(1.0, |(_, scale)| *scale);
            assert!(agrees(&shown, &exact, scale), "{name}: {shown} is {exact} ms");
        }
        compared += table.rows.len();
    }
    assert!(compared > 10, "{compared} steps were compared");
}
