//! Pages as people and browsers get them: what they say, how they are built, and what cannot get into them.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use knee_core::metric::{Check, Group, Place, Threshold};
use knee_core::observation::{FigureUnit, Series, SeriesKind, Source, SourceKind, SourceState};
use knee_core::outcome::Fault;
use knee_core::plan::Endpoint;
use knee_core::record::Run;
use knee_core::record::compact::Compact;
use knee_core::record::run::read;
use knee_core::unit::Nanos;
use knee_core::validity::{Validity, Warning};
use knee_findings::Confidence;
use knee_report::clean::is_hostile;
use knee_report::html::inline::Inline;
use knee_report::kept::{KeptResult, Printed};
use knee_report::page_data::{self, Carried};
use knee_report::text::{self, Style};
use knee_report::{View, csv, html, json};
use proptest::prelude::*;
use serde_json::Value;

use super::page::{Element, Page};
use super::{finding, fixture};

/// Bytes of a page without its data.
const BYTES_MAX: usize = 300_000;

/// Bytes of the data of a page.
const DATA_MAX: usize = 3_000_000;

/// Bytes of the record within a page.
const RECORD_MAX: usize = 1_000_000;

fn of_run(run: &Run) -> String {
    html::run(&View::of(run), Compact::of(run, RECORD_MAX).as_ref(), &Style::default())
}

/// The pages of all runs.
pub fn pages_of_runs() -> Vec<(String, String)> {
    fixture::all().into_iter().map(|(name, run)| (name.to_owned(), of_run(&run))).collect()
}

/// Every kind of page.
fn pages() -> Vec<(String, String)> {
    pages_of_runs()
        .into_iter()
        .chain(super::sweep::pages())
        .chain(super::study::pages())
        .chain(super::history::pages())
        .collect()
}

/// Whether a page is one of a server, which has others too.
fn is_served(name: &str) -> bool {
    name.starts_with("served")
}

/// Whether an address is of the same server.
fn is_path(address: &str) -> bool {
    address.starts_with('/') && !address.starts_with("//")
}

/// A page without the element that holds its data.
fn without_data(page: &str) -> &str {
    page.split_once("<script").map_or(page, |(before, _)| before)
}

/// A text with single spaces.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_page_is_well_formed_and_complete_without_script_and_network() {
    for (name, html) in pages() {
        let page = Page::read(&html);
        assert_eq!(page.faults, [""; 0], "{name}");
        assert!(
            html.starts_with("<!DOCTYPE html><html lang=\"en\">") && html.ends_with("</html>\n"),
            "{name}"
        );
        let scripts = page.all("script");
        let runs = scripts.iter().filter(|one| one.get("type") != Some("application/json")).count();
        let has_cursor = scripts.iter().any(|one| one.get("id") == Some("knee-moments"));
        assert_eq!(runs, usize::from(has_cursor), "{name}: nothing runs but the cursor over charts");
        for forbidden in
            ["img", "iframe", "object", "embed", "form", "base", "video", "audio", "image", "use"]
        {
            let is_allowed = forbidden == "form" && is_served(&name);
            assert!(is_allowed || page.all(forbidden).is_empty(), "{name}: <{forbidden}>");
        }
        assert!(page.all("link").iter().all(|one| one.get("rel") == Some("icon")), "{name}");
        for Element { attributes, .. } in &page.elements {
            for (attribute, value) in attributes {
                assert!(!attribute.starts_with("on"), "{name}: {attribute}");
                let is_address =
                    matches!(attribute.as_str(), "href" | "src" | "action" | "xlink:href" | "style");
                // An icon without content, so that no browser asks for one.
                let is_here =
                    value.starts_with('#') || value == "data:," || is_served(&name) && is_path(value);
                assert!(!is_address || is_here, "{name}: {attribute}={value}");
                let is_quoted = matches!(attribute.as_str(), "aria-label" | "xmlns");
                assert!(is_quoted || !value.contains("://"), "{name}: {attribute}={value}");
            }
        }
        assert!(
            !page.all("style").iter().any(|one| one.text.contains("url(") || one.text.contains("@import"))
        );
    }
}

#[test]
fn a_browser_loads_nothing_for_a_page_and_runs_nothing_but_its_cursor() {
    for (name, html) in pages() {
        let page = Page::read(&html);
        let policy =
            page.all("meta").into_iter().find(|one| one.get("http-equiv") == Some("Content-Security-Policy"));
        let policy = policy.unwrap().get("content").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
            "{name}: {policy}"
        );
        let scripts = policy.split_once("script-src ").map(|(_, sources)| sources);
        let cursor = Inline::Cursor.source();
        let has_cursor = html.contains("id=\"knee-moments\"");
        assert_eq!(scripts, has_cursor.then_some(cursor.as_str()), "{name}: {policy}");
        assert!(
            !policy.contains("connect-src") && !policy.contains("default-src 'self'"),
            "{name}: {policy}"
        );
    }
}

#[test]
fn small_figures_of_observers_are_described_as_they_are_and_a_line_alone_needs_no_name() {
    let mut run = fixture::healthy_open();
    run.observations.sources = vec![Source {
        name: "pid 1".into(),
        kind: SourceKind::Process,
        version: None,
        state: SourceState::Read,
        without: Vec::new(),
        left_out: 0,
    }];
    let series = |name: &str, kind, points: [f64; 2]| Series {
        source: 0,
        name: name.into(),
        label: String::new(),
        unit: FigureUnit::Seconds,
        kind,
        points: vec![(Nanos::ZERO, points[0]), (Nanos::from_secs(10), points[1])],
    };
    run.observations.series = vec![
        series("process.cpu.user", SeriesKind::Counter, [0.0, 0.4]),
        series("process.memory.resident", SeriesKind::Gauge, [1e7, 2e7]),
    ];
    let page = of_run(&run);
    assert!(page.contains("<desc>CPU time: user; at most 0.04 CPUs in use.</desc>"), "{page}");
    assert!(page.contains("<desc>Memory; at most 19.1 MiB.</desc>"), "{page}");
}

#[test]
fn headings_are_in_order_places_are_unique_and_every_link_has_one() {
    for (name, html) in pages() {
        let page = Page::read(&html);
        let levels: Vec<u32> = page.headings().iter().map(|(level, _)| *level).collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{name}");
        assert_eq!(levels.first(), Some(&1), "{name}");
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
        let mut places: Vec<&str> = page.elements.iter().filter_map(|one| one.get("id")).collect();
        let links = page.all("a").into_iter().filter_map(|one| one.get("href"));
        for link in links.filter(|link| !(is_served(&name) && is_path(link))) {
            assert!(places.contains(&link.trim_start_matches('#')), "{name}: {link}");
        }
        places.sort_unstable();
        let all = places.len();
        places.dedup();
        assert_eq!(places.len(), all, "{name}: {places:?}");
    }
}

#[test]
fn tables_have_captions_and_scopes_and_pictures_are_described() {
    for (name, html) in pages() {
        let page = Page::read(&html);
        assert_eq!(page.all("table").len(), page.all("caption").len(), "{name}");
        assert!(page.all("th").iter().all(|one| matches!(one.get("scope"), Some("row" | "col"))), "{name}");
        for svg in page.all("svg") {
            let hidden = svg.get("aria-hidden") == Some("true");
            assert!(hidden || svg.get("role") == Some("img"), "{name}: {svg:?}");
        }
        let pictures = page.all("svg").into_iter().filter(|one| one.get("role") == Some("img")).count();
        assert_eq!(page.all("desc").len(), pictures, "{name}");
    }
}

#[test]
fn the_first_sentences_of_a_run_are_those_of_the_terminal() {
    let style = Style { width: 4_000, ..Style::default() };
    for (name, run) in fixture::all() {
        let view = View::of(&run);
        let (text, page) = (text::render(&view, &style), Page::read(&of_run(&run)));
        let answer = page.of_class("answer")[0].text.trim_end_matches('.');
        let shown = answer.strip_prefix("Not to be used: ").unwrap_or(answer);
        let measured = view.total.response.count > 0;
        assert!(!measured || text.lines().any(|line| line == shown), "{name}: {answer}\n{text}");
        let invalid = view.validity.validity == Validity::Invalid;
        assert_eq!(answer.starts_with("Not to be used: "), invalid && measured, "{name}");
        let validity = text.lines().find(|line| line.starts_with("Validity: ")).unwrap();
        assert!(flat(&page.of_class("verdict")[0].text).ends_with(validity), "{name}: {validity}");
        for warning in &view.validity.warnings {
            let said = format!("{}: {}", warning.validity.name(), knee_report::clean::line(&warning.message));
            assert!(
                page.of_class("trust")[0].text.contains(&said) || view.validity.warnings.len() > 3,
                "{name}"
            );
        }
    }
}

#[test]
fn a_run_shows_what_its_answer_rests_on() {
    let page = Page::read(&of_run(&fixture::overload()));
    let headings: Vec<&str> =
        page.headings().into_iter().filter(|(level, _)| *level == 2).map(|one| one.1).collect();
    assert_eq!(
        headings,
        [
            "Times",
            "Percentile spectrum",
            "Throughput",
            "Errors",
            "Phases",
            "Validity",
            "Load generator",
            "Intervals",
            "Plan and machine",
            "Raw data"
        ]
    );
    let names: Vec<&str> = page.all("strong").iter().map(|one| one.text.as_str()).collect();
    for chart in [
        "Response time over time",
        "Throughput over time",
        "Response time and service time over time",
        "Percentiles of response time and service time",
        "Requests not ok over time",
        "CPU use over time",
    ] {
        assert!(names.contains(&chart), "{chart} is missing: {names:?}");
    }
    let tiles: Vec<String> = page.of_class("tile").iter().map(|tile| flat(&tile.text)).collect();
    assert_eq!(tiles.len(), 4, "{tiles:?}");
    let meaning = page.of_class("facts").iter().any(|one| one.text.contains("Remedy"));
    assert!(meaning, "a warning says what it means");
}

#[test]
fn a_run_that_is_too_short_for_a_course_says_so_and_has_a_page_all_the_same() {
    let page = Page::read(&of_run(&fixture::small_closed()));
    assert!(
        page.of_class("note")
            .iter()
            .any(|one| one.text.starts_with("The run is too short for figures over time"))
    );
    let page = Page::read(&of_run(&fixture::empty()));
    assert_eq!(page.of_class("answer")[0].text, "No request was measured.");
    assert!(page.of_class("tile").is_empty());
}

#[test]
fn the_data_of_a_page_is_the_json_document() {
    for (name, run) in fixture::all() {
        let page = Page::read(&of_run(&run));
        let data = page.all("script")[0];
        assert_eq!((data.get("id"), data.get("type")), (Some("knee-data"), Some("application/json")));
        let within: Value = serde_json::from_str(&data.text).unwrap();
        let document: Value = serde_json::from_str(&json::render(&View::of(&run))).unwrap();
        assert_eq!(within, document, "{name}");
    }
}

/// The result that a page carries, as it was printed.
fn printed(page: &str) -> Printed {
    match page_data::read(page.as_bytes()).unwrap() {
        Carried::Result(bytes) => KeptResult::unpack(&bytes).unwrap().printed,
        Carried::Record(_) => panic!("the page carries a run"),
    }
}

#[test]
fn the_run_within_a_page_is_the_run_of_its_record() {
    for (name, run) in fixture::all() {
        let Carried::Record(bytes) = page_data::read(of_run(&run).as_bytes()).unwrap() else {
            panic!("{name}: the page carries no run")
        };
        let again = read(&*bytes).unwrap().run;
        let (view, other) = (View::of(&run), View::of(&again));
        let style = Style { all_findings: true, ..Style::default() };
        assert_eq!(text::render(&other, &style), text::render(&view, &style), "{name}");
        assert_eq!(json::render(&other), json::render(&view), "{name}");
        assert_eq!(csv::render(&other), csv::render(&view), "{name}");
        assert_eq!(of_run(&again), of_run(&run), "{name}");
    }
}

/// The record within a page.
static CARRIED: LazyLock<Vec<u8>> =
    LazyLock::new(|| match page_data::read(of_run(&fixture::three_endpoints()).as_bytes()).unwrap() {
        Carried::Record(bytes) => bytes,
        Carried::Result(_) => panic!("the page carries no run"),
    });

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_to_what_a_page_carries_breaks_a_report(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = CARRIED.clone();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Ok(reading) = read(&*bytes) {
            let view = View::of(&reading.run);
            prop_assert!(!text::render(&view, &Style::default()).is_empty());
            prop_assert!(!json::render(&view).is_empty());
        }
    }
}

#[test]
fn every_other_page_carries_what_its_command_prints() {
    let pages = super::sweep::printed().into_iter().chain(super::study::printed());
    for (name, page, text, markdown, json) in pages {
        let printed = printed(&page);
        assert_eq!(printed.text, text, "{name}");
        assert_eq!(printed.markdown.as_deref(), Some(markdown.as_str()), "{name}");
        assert_eq!(printed.json, json, "{name}");
    }
}

#[test]
fn a_page_is_small_and_says_what_it_leaves_out() {
    for (name, html) in pages() {
        let bytes = without_data(&html).len();
        assert!(bytes < BYTES_MAX, "{name}: {bytes} bytes");
    }
    let mut run = fixture::overload();
    let series = run.series.clone();
    run.series = series.iter().cycle().take(86_400).cloned().collect();
    for (second, point) in run.series.iter_mut().enumerate() {
        point.from = Nanos::from_secs(second as u64);
        point.to = Nanos::from_secs(second as u64 + 1);
    }
    let html = of_run(&run);
    assert!(without_data(&html).len() < BYTES_MAX, "{} bytes for a day", without_data(&html).len());
    assert!(html.len() < BYTES_MAX + DATA_MAX, "{} bytes for a day", html.len());
    let page = Page::read(&html);
    let notes: Vec<String> = page.of_class("note").iter().map(|one| flat(&one.text)).collect();
    assert!(
        notes.iter().any(|note| note.starts_with("Each point covers 288 of the 86,400 intervals")),
        "{notes:?}"
    );
    assert!(html.contains("without its 86,400 intervals"), "the data has no series");
}

#[test]
fn of_many_endpoints_the_busiest_are_open_and_the_page_says_how_many_it_leaves_out() {
    let mut run = fixture::three_endpoints();
    let (endpoint, tally) = (run.endpoints[0].clone(), run.measured.endpoints[0].clone());
    run.endpoints.resize(600, endpoint);
    run.measured.endpoints.resize(600, tally);
    let html = of_run(&run);
    let page = Page::read(&html);
    let summaries: Vec<&str> = page.all("summary").iter().map(|one| one.text.as_str()).collect();
    assert!(summaries.contains(&"Show 475 more endpoints"), "{summaries:?}");
    assert!(page.of_class("note").iter().any(|one| one.text == "100 more in the JSON: endpoints."));
    assert!(without_data(&html).len() < BYTES_MAX, "{} bytes", without_data(&html).len());
}

/// Names that try to get out of their element.
static BITES: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "' autofocus onfocus=alert(1) x='",
    "javascript:alert(1)//http://evil.test/",
    "<!--",
    "\u{202e}gpj.exe\u{2028}\u{0}\u{1b}[2J\u{9b}31m",
    "]]></title></style><base href=//evil.test>",
];

/// A run in which every text that others write is `bite`.
fn bitten(bite: &str) -> Run {
    let mut run = fixture::overload();
    bite.clone_into(&mut run.head.title);
    bite.clone_into(&mut run.head.build.version);
    run.head.build.commit = Some(bite.to_owned());
    run.head.machine.cpu = Some(bite.to_owned());
    bite.clone_into(&mut run.head.machine.system);
    bite.clone_into(&mut run.head.plan.scenarios[0].name);
    let again = run.head.plan.scenarios[0].clone();
    run.head.plan.scenarios.push(again);
    run.endpoints = vec![Endpoint { name: bite.into() }, Endpoint { name: format!("=2+{bite}") }];
    let copy = run.measured.endpoints[0].clone();
    run.measured.endpoints.push(copy);
    run.measured.endpoints[0].note_fault(Fault::MalformedHead, 1, Some(bite));
    let warning = |validity| Warning { code: bite.into(), validity, message: bite.into(), hint: bite.into() };
    run.validity.warnings = vec![warning(Validity::Suspect), warning(Validity::Suspect)];
    run.validity.notes = vec![bite.into()];
    run
}

/// That a page has the elements of a harmless one, and no character that acts on the text around it.
fn assert_harmless(bite: &str) {
    let skeleton = |bite: &str| {
        let html = of_run(&bitten(bite));
        let hostile: Vec<char> = html.chars().filter(|c| *c != '\n' && is_hostile(*c)).collect();
        assert_eq!(hostile, [' '; 0], "{bite:?}");
        let page = Page::read(&html);
        assert_eq!(page.faults, [""; 0], "{bite:?}");
        let names = |element: &Element| {
            (element.name.clone(), element.attributes.keys().cloned().collect::<Vec<String>>())
        };
        // A name can be two: a common beginning, and what follows. Within a sentence of ours, its backticks make code.
        let is_counted = |element: &&Element| !matches!(element.name.as_str(), "bdi" | "code");
        page.elements.iter().filter(is_counted).map(names).collect::<Vec<_>>()
    };
    assert!(skeleton("a plain name") == skeleton(bite), "{bite:?} changes the elements of the page");
}

#[test]
fn the_page_of_a_script_says_which_thresholds_were_crossed_and_which_checks_failed() {
    let mut run = fixture::healthy_open();
    let threshold = |expression: &str, value, holds| Threshold {
        metric: "http_req_duration".to_owned(),
        expression: expression.to_owned(),
        value,
        holds,
    };
    run.metrics.thresholds = vec![threshold("p(95)<500", 251.0, true), threshold("p(99)<200", 480.0, false)];
    let checks = [("status is 200".to_owned(), Check { first: 1, passes: 9, fails: 1 })].into();
    run.metrics.groups.insert(Place::default(), Group { first: 1, checks });
    let page = Page::read(&of_run(&run));
    assert!(page.of_class("answer")[0].text.ends_with(", 1 of 2 thresholds crossed."));
    assert_eq!(page.of_class("points")[0].text, "Threshold crossed: http_req_duration p(99)<200; it was 480");
    let rows: Vec<&str> = page.all("tr").into_iter().map(|row| row.text.as_str()).collect();
    assert!(rows.contains(&"http_req_durationp(99)<200480✕ crossed"), "{rows:?}");
    assert!(rows.contains(&"status is 2009190.0 %"), "{rows:?}");
}

#[test]
fn no_name_gets_out_of_its_element() {
    for bite in BITES {
        assert_harmless(bite);
    }
    assert_harmless(&"<b>".repeat(4_000));
    let long = of_run(&bitten(&"x".repeat(10_000)));
    assert!(without_data(&long).len() < BYTES_MAX, "{}", without_data(&long).len());
    let ticks = of_run(&bitten("`x`"));
    let named = Page::read(&ticks);
    assert_eq!(named.all("h1")[0].text, "`x`", "a name alone is never code");
    assert!(named.all("bdi").iter().any(|one| one.text.contains("`x`")), "{ticks}");
    let hebrew = of_run(&bitten("\u{5e9}\u{5dc}\u{5d5}\u{5dd}"));
    let page = Page::read(&hebrew);
    assert!(
        page.all("bdi").iter().any(|one| one.text == "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
        "a name turns no other text"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_others_wrote_stays_text(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(&BITES[..]).prop_map(str::to_owned),
                "[<>&\"'/=;:! a-z\\\\-]{1,20}",
                any::<char>().prop_map(String::from),
            ],
            1..8,
        ),
    ) {
        assert_harmless(&format!("a{}", pieces.concat()));
    }
}

#[test]
fn only_one_file_goes_around_the_escaping() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).unwrap().contains("PreEscaped") {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    assert_eq!(found, ["raw.rs"]);
}

/// The contrast of two colours by WCAG 2.2: 1 to 21.
fn contrast(one: &str, other: &str) -> f64 {
    let part = |colour: &str, at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let luminance =
        |colour: &str| 0.2126 * part(colour, 1) + 0.7152 * part(colour, 3) + 0.0722 * part(colour, 5);
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn text_and_lines_stand_out_on_light_and_on_dark_pages() {
    let html = of_run(&fixture::empty());
    let page = Page::read(&html);
    let style = &page.all("style")[0].text;
    let schemes: Vec<&str> =
        style.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap()).collect();
    assert_eq!(schemes.len(), 3, "a light and a dark one, and that of forced colours");
    assert!(!schemes[2].contains('#'), "forced colours are those of the system: {}", schemes[2]);
    for scheme in &schemes[..2] {
        let colour = |name: &str| {
            let (_, rest) =
                scheme.split_once(&format!("--{name}: ")).unwrap_or_else(|| panic!("{name} is missing"));
            rest.split(';').next().unwrap()
        };
        for ground in ["page", "panel"] {
            for text in ["ink", "faint", "link", "good", "doubtful", "bad"] {
                let found = contrast(colour(text), colour(ground));
                assert!(found >= 4.5, "{text} on {ground}: {found:.2}");
            }
        }
        for line in ["c0", "c1", "c2", "c3", "c4", "c5", "c6"] {
            let found = contrast(colour(line), colour("page"));
            assert!(found >= 3.0, "{line}: {found:.2}");
        }
    }
}

#[test]
fn the_first_screen_names_three_findings_and_a_section_has_all_with_their_figures() {
    let findings = vec![finding::finding("missing_index", Confidence::Likely); 5];
    let page = html::run(&finding::view(findings), None, &Style::default());
    let text = flat(without_data(&page));
    assert_eq!(text.matches("Remedy: an index on public.tasks (organization_id).").count(), 3 + 5, "{text}");
    assert!(
        text.contains("What stops it") && text.contains("rows per sequential scan of public.tasks 240,000")
    );
    assert!(text.contains("Predicted: mean response time 84.0 ms to 23.0 ms"), "{text}");
    let nothing = flat(without_data(&of_run(&fixture::healthy_open())));
    assert!(!nothing.contains("What stops it"), "{nothing}");
}

#[test]
fn what_is_to_be_typed_is_code_and_no_page_shows_a_backtick_of_ours() {
    for (name, html) in pages() {
        let shown = without_data(&html);
        let place = shown.find('`').map_or("", |at| shown.get(at.saturating_sub(60)..at + 60).unwrap_or(""));
        assert!(place.is_empty(), "{name}: {place}");
    }
    let mut run = fixture::overload();
    run.validity.notes = vec!["run `knee doctor <b>` with a `name".to_owned(), "ask `a`, `<i>`".to_owned()];
    let html = of_run(&run);
    assert!(html.contains("<li>ask <code>a</code>, <code>&lt;i&gt;</code></li>"), "code is escaped too");
    assert!(
        html.contains("<li>run `knee doctor &lt;b&gt;` with a `name</li>"),
        "without a partner it is text"
    );
}

#[test]
fn rules_that_could_not_run_are_folded_at_the_end_of_the_findings() {
    let page = html::run(
        &finding::view(vec![finding::finding("missing_index", Confidence::Likely)]),
        None,
        &Style::default(),
    );
    let section = page.split_once("<section id=\"findings\"").unwrap().1.split_once("</section>").unwrap().0;
    let (open, folded) = section.split_once("<details><summary>Rules that could not run</summary>").unwrap();
    assert!(open.contains("Bounds of the observed resources"), "{open}");
    assert!(folded.contains("redis_thread") && folded.ends_with("</details>"), "{folded}");
    assert_eq!(page.matches("What stops it").count(), 3, "one wording: first screen, link, heading");
}

#[test]
fn a_page_says_how_many_requests_a_p99_over_time_takes_where_the_run_has_one_and_its_intervals_do_not() {
    let note = "There is no p99 over time: it takes 10,000 requests per interval.";
    for (name, run) in fixture::all() {
        let html = of_run(&run);
        let page = Page::read(&html);
        let has_chart = page.all("strong").iter().any(|one| one.text == "Response time over time");
        let has_line = page.all("li").iter().any(|one| one.text == "response time p99");
        let has_p99 = View::of(&run).total.response.percentile("p99").time().is_some();
        assert_eq!(html.contains(note), has_chart && has_p99 && !has_line, "{name}");
    }
    assert!(pages().iter().any(|(_, html)| html.contains(note)), "one of the runs is such a run");
}

#[test]
fn everything_that_scrolls_can_be_reached_by_keyboard_and_has_a_name() {
    for (name, html) in pages() {
        let page = Page::read(&html);
        let boxes = page
            .elements
            .iter()
            .filter(|one| one.name == "pre" || one.has_class("scroll") || one.has_class("drawing"));
        for one in boxes {
            let is_named = one.get("aria-label").is_some_and(|label| !label.is_empty());
            assert!(
                is_named && one.get("tabindex") == Some("0") && one.get("role") == Some("region"),
                "{name}"
            );
        }
    }
}
