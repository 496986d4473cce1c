//! What a study's conclusion reads like, in a terminal and in Markdown.

use std::collections::BTreeMap;

use knee_core::record::{Build, Machine};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::html;
use knee_report::kept::COLUMNS;
use knee_report::study::plot::{self, PlotKind};
use knee_report::study::{
    Commands, Document, Provenance, Session, UnclearMarkers, claims_begin, comparison as shown, json,
    markdown, summary, text, with_claims,
};
use knee_report::text::Palette;
use knee_study::compare::{Asked, Comparison, variant};
use knee_study::definition::{Cell, Definition};
use knee_study::metric::Metric;
use knee_study::record_pair::RecordPair;
use knee_study::study::{
    Basis, ClaimVerdict, Conclusion, Figure, Measured, Options, Placement, Study, Trial, TrialResult,
    TrialWarning,
};

use super::page::Page;

const STUDY: &str = r#"title = "Is it the lock?"
question = "What did the lock cost?"

[service.main]
command = ["server", "{port}"]

[switches.lock]
default = "coarse"
env = "LOCK"

[variants.stock]
text = "as it comes"

[variants.fine]
text = "a lock for each | post"
extends = "stock"
switches = { lock = "fine" }

[workloads.list]
text = "the newest posts"
path = "/posts"

[design]
kind = "ladder"
blocks = 8
metrics = ["goodput", "p50", "errors"]

[claims.C1]
text = "the lock was the problem"
workload = "list"
metric = "p50"
variant = "fine"
against = "stock"
expect = "faster"

[claims.C2]
text = "it doubles the rate"
workload = "list"
metric = "goodput"
variant = "fine"
against = "stock"
expect = "faster"
at_least = "2x"

[claims.C3]
text = "the runtime did the rest"
untestable = "there is no other runtime here"

[[published]]
variant = "stock"
workload = "list"
figures = { p50 = "87.5ms" }

[[published]]
variant = "fine"
workload = "list"
figures = { p50 = "80.2ms" }
"#;

/// Eight blocks whose noise repeats, and one round that is lost.
fn conclusion() -> Conclusion {
    let is_lost = |trial: &Trial| trial.block == 5 && trial.variant == "stock";
    judged(STUDY, &|trial| if is_lost(trial) { Validity::Invalid } else { Validity::Valid })
}

/// The same eight blocks with other trials that are valid.
fn judged(text: &str, validity: &dyn Fn(&Trial) -> Validity) -> Conclusion {
    let definition = Definition::read(text, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let noise = [0.0, 0.01, -0.02, 0.015, 0.005, -0.01, 0.02, -0.005][trial.block];
        let millis = if trial.variant == "fine" { 8.0 * (1.0 + noise) } else { 10.0 };
        let validity = validity(&trial);
        let figures = [
            (Metric::Goodput, 20_000.0 / millis),
            (Metric::P50, millis * 1e6),
            (Metric::Errors, 0.0),
            (Metric::CpuPerRequest, 60e3 * millis),
            (Metric::GeneratorCpuPerRequest, 40e3),
        ];
        let cpus = [("generator", "0-1"), ("service.main", "0-1")];
        let measured = Measured {
            figures: BTreeMap::from(figures.map(|(metric, value)| (metric, Figure::from(value)))),
            requests: 10_000,
            validity,
            warnings: if validity == Validity::Valid {
                Vec::new()
            } else {
                vec![TrialWarning::new("lag", "the generator\nwas late")]
            },
            steady: None,
            kept_up: None,
            host_busy: None,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            record: None,
            placement: Placement {
                cpus: cpus.map(|(part, cpus)| (part.to_owned(), cpus.to_owned())).into(),
                unavailable: BTreeMap::from([("service.main.cpu_limit".to_owned(), "no cgroup".to_owned())]),
                generator_cpu_weight: Some(20),
            },
        };
        study.record_result(&trial, TrialResult::Measured(measured)).unwrap();
    }
    study.conclude()
}

fn made() -> Provenance {
    let machine = Machine {
        system: "Linux 6.1".to_owned(),
        arch: "x86_64".to_owned(),
        cpu: Some("Test CPU".to_owned()),
        cores: 2,
        memory_bytes: Some(8 << 30),
    };
    let build = Build { version: "0.1.0".to_owned(), commit: None, optimized: true };
    let session = |first_trial, hours: u64| Session {
        started: Nanos::from_secs(1_795_000_000 + hours * 3_600),
        first_trial,
        build: build.clone(),
        machine: machine.clone(),
    };
    Provenance {
        sessions: vec![session(0, 0), session(7, 3)],
        commands: Some(Commands {
            folder: "the root of the repository".to_owned(),
            repeat: "knee study labs/lock".to_owned(),
            report: "knee study labs/lock --report-only".to_owned(),
        }),
        plots: Some("plots".to_owned()),
    }
}

fn document() -> Document {
    let conclusion = conclusion();
    let plots = plot::all(&conclusion);
    Document::of(&conclusion, &made(), &plots)
}

/// A comparison whose second side is slower, and has a hostile name.
fn comparison() -> Comparison {
    let asked = Asked {
        title: "A and B".to_owned(),
        fixture: knee_core::fixture::Declaration::default(),
        variants: vec![variant("A", "http://a/"), variant("B", "http://b/</script><img src=x>\u{202e}")],
        blocks: 10,
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(1),
        seed: 7,
        margin: None,
        metrics: vec![Metric::P50, Metric::Goodput],
    };
    let mut study = Study::new(asked.definition(), Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let noise = 1.0 + 0.02 * (trial.block % 5) as f64 + 0.002 * (trial.number % 7) as f64;
        let millis = noise * if trial.variant == "B" { 1.3 } else { 1.0 };
        let TrialResult::Measured(of_p50) = of_p50(millis * 1e6) else { unreachable!("it is a valid trial") };
        let mut figures = of_p50.figures.clone();
        figures.insert(Metric::Goodput, Figure::from(1_000.0 / millis));
        study.record_result(&trial, TrialResult::Measured(Measured { figures, ..of_p50 })).unwrap();
    }
    Comparison::of(&study, "50 connections")
}

#[test]
fn a_change_that_points_another_way_than_the_medians_beside_it_is_explained() {
    let mut comparison = comparison();
    let opposed = |comparison: &Comparison| {
        text(&shown::comparison(comparison), 4_000, Palette::None)
            .contains("goodput: A and B beside the change are medians of all blocks")
    };
    assert!(!opposed(&comparison));
    let line = comparison.metrics.iter_mut().find(|line| line.effect.metric == Metric::Goodput).unwrap();
    let a = line.a.as_ref().unwrap().spread.median;
    line.b.as_mut().unwrap().spread.median = a * 1.01;
    assert!(opposed(&comparison));
}

/// A study, a comparison and two runs, each as a page, as text, as Markdown and as JSON, with its name.
pub fn printed() -> Vec<(&'static str, String, String, String, String)> {
    let (conclusion, made, driven) = (conclusion(), Provenance { plots: None, ..made() }, comparison());
    let (one, other) = (super::fixture::healthy_open(), super::fixture::overload());
    let pair = RecordPair::of((&one, "a.knee"), (&other, "b.knee"), None);
    let of = |name, page, document: &Document, json| {
        (name, page, text(document, COLUMNS, Palette::None), markdown(document), json)
    };
    vec![
        of(
            "study",
            html::study(&conclusion, &made),
            &Document::of(&conclusion, &made, &[]),
            json::render(&conclusion, &made),
        ),
        of(
            "comparison",
            html::comparison(&driven),
            &shown::comparison(&driven),
            shown::comparison_json(&driven),
        ),
        of(
            "two runs",
            html::record_pair(&pair, (&one, &other)),
            &shown::record_pair(&pair),
            shown::record_pair_json(&pair),
        ),
    ]
}

/// Pages of studies and comparisons, with their names.
pub fn pages() -> Vec<(String, String)> {
    let empty =
        Study::new(Definition::read(STUDY, "study.toml", &|_| true).unwrap(), Options::default(), None);
    let (one, other) = (super::fixture::healthy_open(), super::fixture::hostile());
    let pair = RecordPair::of((&one, "a.knee"), (&other, "<b>.knee"), None);
    let pages = [
        ("study", html::study(&conclusion(), &made())),
        ("growth study", html::study(&grown(), &made())),
        ("study without trials", html::study(&empty.unwrap().conclude(), &Provenance::default())),
        ("comparison", html::comparison(&comparison())),
        ("two runs", html::record_pair(&pair, (&one, &other))),
    ];
    pages.map(|(name, page)| (name.to_owned(), page)).to_vec()
}

#[test]
fn the_page_of_a_study_has_the_verdict_first_every_picture_and_every_section() {
    let conclusion = conclusion();
    let plots = plot::all(&conclusion);
    let page = Page::read(&html::study(&conclusion, &made()));
    let text = text(&document(), 4_000, Palette::None);
    let verdict = text.lines().nth(2).unwrap();
    assert_eq!(page.of_class("answer")[0].text, verdict);
    assert!(page.of_class("verdict")[0].text.contains("16 trials: 15 valid, 0 suspect, 1 invalid"));
    assert_eq!(page.of_class("drawing").len(), plots.len());
    let headings: Vec<&str> = page.headings().iter().map(|(_, text)| *text).collect();
    for line in ["Published claims", "What bounds it", "Variants", "CPU time per request", "Repeat it"] {
        assert!(headings.contains(&line), "{line} is missing: {headings:?}");
    }
    assert!(page.all("pre")[0].text.contains("knee study labs/lock --report-only"));
}

#[test]
fn the_page_of_two_runs_gives_no_verdict_and_shows_both_first() {
    let (one, other) = (super::fixture::healthy_open(), super::fixture::overload());
    let page = html::record_pair(&RecordPair::of((&one, "a.knee"), (&other, "b.knee"), None), (&one, &other));
    let (front, _) = page.split_once("<nav").unwrap();
    assert!(front.contains("No verdict: one run per side cannot separate change from noise."), "{front}");
    assert!(front.contains("a.knee") && front.contains("b.knee"), "{front}");
}

#[test]
fn the_page_of_a_comparison_has_the_verdict_on_b_first() {
    let comparison = comparison();
    let page = Page::read(&html::comparison(&comparison));
    assert_eq!(page.headings()[0].1, "B vs A: p50 slower, goodput slower");
    let answer = &page.of_class("answer")[0].text;
    assert!(answer.starts_with("p50, B vs A: +") && answer.contains(", slower"), "{answer}");
    let rows = page.elements.iter().filter(|one| one.has_class("interval")).count();
    assert_eq!(rows, comparison.metrics.len(), "an interval is drawn for each metric");
    assert_eq!(page.of_class("verdict")[0].text.trim(), "✓ All 20 trials are valid.");
    let data: serde_json::Value = serde_json::from_str(&page.all("script")[0].text).unwrap();
    assert_eq!(data["kind"], "driven");
}

#[test]
fn a_terminal_shows_the_answer_first_then_what_it_rests_on() {
    let document = document();
    insta::assert_snapshot!(text(&document, 100, Palette::None));
}

#[test]
fn markdown_has_the_same_with_one_picture_and_the_commands() {
    let document = document();
    let text = markdown(&document);
    insta::assert_snapshot!(text);
    assert!(!text.contains("each | post"), "a cell does not end early");
}

#[test]
fn no_line_is_wider_than_asked_for() {
    let document = document();
    for columns in [60, 80, 120] {
        let wide = text(&document, columns, Palette::None);
        let widest = wide.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns, "{widest} of {columns}:\n{wide}");
    }
}

#[test]
fn a_study_that_measured_nothing_says_so() {
    let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let study = Study::new(definition, Options::default(), None).unwrap();
    let shown = text(&Document::of(&study.conclude(), &Provenance::default(), &[]), 100, Palette::None);
    assert!(shown.contains("2 open, 1 not testable here"), "{shown}");
    assert!(shown.contains("unfinished: 16 trials left"), "{shown}");
    assert!(plot::all(&study.conclude()).is_empty(), "there is nothing to draw");
}

const SCHEMA: &str = include_str!("../../../../docs/reference/study.schema.json");

#[test]
fn a_study_as_json_is_as_its_schema_says() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let empty =
        Study::new(Definition::read(STUDY, "study.toml", &|_| true).unwrap(), Options::default(), None);
    let drawn = [
        (conclusion(), made()),
        (empty.unwrap().conclude(), Provenance::default()),
        (grown(), made()),
        (endpoint::conclusion(), made()),
    ];
    for (conclusion, made) in drawn {
        let document: serde_json::Value = serde_json::from_str(&json::render(&conclusion, &made)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
        assert_eq!(document["trials"].as_array().unwrap().len(), conclusion.trials.len());
        let whole: Conclusion = serde_json::from_value(document).unwrap();
        assert_eq!(whole.claims, conclusion.claims, "the document is the conclusion, with more beside it");
    }
}

mod endpoint;
mod statement;

/// A valid trial that measured one figure, in nanoseconds.
fn of_p50(nanos: f64) -> TrialResult {
    TrialResult::Measured(Measured {
        figures: BTreeMap::from([(Metric::P50, Figure::from(nanos))]),
        requests: 1_000,
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: Some(true),
        kept_up: None,
        host_busy: None,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        record: None,
        placement: Placement::default(),
    })
}

/// A study whose times grow as the root of the rows of its one variant.
fn grown() -> Conclusion {
    let design = STUDY.find("[design]").unwrap();
    let growth = r#"[switches.rows]
default = 1000
env = "ROWS"

[design]
kind = "growth"
order = ["stock"]
growth = { switch = "rows", sizes = [1000, 2000, 4000, 8000] }
metrics = ["p50"]
"#;
    let definition = Definition::read(&format!("{}{growth}", &STUDY[..design]), "study.toml", &|_| true);
    let mut study = Study::new(definition.unwrap(), Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let rows: f64 = trial.variant.rsplit(' ').next().unwrap().parse().unwrap();
        study.record_result(&trial, of_p50(1e6 * (rows / 1e3).sqrt())).unwrap();
    }
    study.conclude()
}

#[test]
fn pictures_show_every_variant_and_comparison_with_their_words() {
    let plots = plot::all(&conclusion());
    let names: Vec<&str> = plots.iter().map(|plot| plot.file.as_str()).collect();
    assert_eq!(names, ["primary.svg", "timeline-list.svg", "effects-list.svg", "effects-list-2.svg"]);
    assert!(names.iter().all(|name| plot::is_name(name)), "{names:?}");
    for other in
        ["list.svg", "effects.svg", "effects-.svg", "effects-List.svg", "timeline-list.png", "primary-2.svg"]
    {
        assert!(!plot::is_name(other), "{other}");
    }
    let (primary, timeline, effects) = (&plots[0].svg, &plots[1].svg, &plots[2].svg);
    assert!(primary.contains("list: each step") && primary.contains("+24.6 %"), "{primary}");
    for words in ["stock", "fine", "2,000/s", "10.0 ms", "requests/s", "less is better", "×0.92"] {
        assert!(timeline.contains(words), "the timeline lacks {words}");
    }
    for words in ["stock → fine", "+24.6 %", "faster", "change of p50", "left is better"] {
        assert!(effects.contains(words), "effects lack {words}");
    }
    // Two published figures of p50, none of the rate: an outline and a white inside each.
    assert_eq!(timeline.matches("<polygon").count(), 2, "a diamond for each published figure");
}

#[test]
fn pictures_have_letters_of_12_pixels_a_description_and_colours_for_dark_pages() {
    for plot in plot::all(&conclusion()).iter().chain(&plot::all(&grown())) {
        let (file, svg) = (&plot.file, &plot.svg);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{file}");
        assert!(svg.contains("role=\"img\">\n<title>") && svg.contains("</title>\n<desc>"), "{file}");
        let described = svg.split_once("<desc>").unwrap().1.split_once("</desc>").unwrap().0;
        assert!(described.contains("stock"), "{file}: {described}");
        assert!(svg.contains("@media (prefers-color-scheme: dark)"), "{file}");
        for size in svg.split("font-size=\"").skip(1) {
            let size: f64 = size.split_once('"').unwrap().0.parse().unwrap();
            assert!(size > 11.99, "{file}: letters of {size} pixels");
        }
        let style = svg.split_once("<style>").unwrap().1.split_once("</style>").unwrap();
        for color in style.1.split("=\"#").skip(1) {
            let color = &color[..6];
            assert!(style.0.contains(color), "{file}: #{color} has no colour on a dark page");
        }
    }
}

#[test]
fn growth_is_drawn_with_its_exponent() {
    let plots = plot::all(&grown());
    let growth = plots.iter().find(|plot| plot.kind == PlotKind::Growth).unwrap();
    assert_eq!(growth.file, "growth-list.svg");
    for words in ["stock: exponent 0.50 (0.50 to 0.50), sublinear", "1,000", "8,000", "amount of data"] {
        assert!(growth.svg.contains(words), "growth lacks {words}");
    }
    assert_eq!(growth.svg.matches("<circle").count(), 4 + 1, "a dot for each amount, and one in the legend");
}

#[test]
fn a_document_of_growth_says_first_whose_figures_grow() {
    let conclusion = grown();
    let text = markdown(&Document::of(&conclusion, &made(), &plot::all(&conclusion)));
    let sentence = "Growth of p50, list, from 1,000 to 8,000 (exponent): stock sublinear (0.50).";
    assert!(text.starts_with(&format!("# Is it the lock?\n\n**{sentence}**\n")), "{text}");
}

/// A lock that always matters, a cache that does so while the lock is coarse, pooled connections that do so once it is
/// fine, and a log that never does.
fn ablated() -> Conclusion {
    let switches = r#"[switches.cache]
default = "off"
env = "CACHE"

[switches.pool]
default = "off"
env = "POOL"

[switches.log]
default = "off"
env = "LOG"

[variants.best]
extends = "fine"
switches = { cache = "on", pool = "on", log = "on" }

[design]
kind = "ablation"
baseline = "stock"
best = "best"
metrics = ["p50"]
"#;
    let design = STUDY.find("[design]").unwrap();
    let definition = Definition::read(&format!("{}{switches}", &STUDY[..design]), "study.toml", &|_| true);
    let mut study = Study::new(definition.unwrap(), Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let variant = study.variant_of(&trial).unwrap();
        let is = |switch: &str, value: &str| variant.switches[switch] == value;
        let millis = match (is("lock", "fine"), is("cache", "on"), is("pool", "on")) {
            (false, false, _) => 10.0,
            (false, true, _) => 8.0,
            (true, _, false) => 6.0,
            (true, _, true) => 5.0,
        };
        let noise = [0.0, 0.01, -0.02, 0.015, 0.005][trial.block % 5];
        let noise = if is("log", "on") { noise } else { -noise / 2.0 };
        study.record_result(&trial, of_p50(millis * (1.0 + noise) * 1e6)).unwrap();
    }
    study.conclude()
}

#[test]
fn an_ablation_says_first_which_switches_carry_the_best_variant_and_which_come_along() {
    let text = markdown(&Document::of(&ablated(), &Provenance::default(), &[]));
    let sentence = "Switches, p50, list: faster alone and as the last step: lock; faster alone only: cache; \
                    faster as the last step only: pool; no effect shown: 1.";
    assert!(text.replace("\n  ", " ").contains(sentence), "{text}");
    let rows = |name: &str| text.find(&format!("\n| {name} = ")).unwrap();
    assert!(text.contains("| switch | p50, alone on stock | p50, as the last step to best |"), "{text}");
    assert!(rows("lock") < rows("pool"), "what the best variant would miss most is first");
    assert!(rows("pool") < rows("cache") && rows("pool") < rows("log"), "{text}");
    assert!(!markdown(&document()).contains("Switches"), "a ladder has none");
}

#[test]
fn what_others_wrote_cannot_break_out_of_a_picture_or_a_name_of_a_file() {
    let hostile = STUDY
        .replace("[workloads.list]", "[workloads.\"../x <script>\"]")
        .replace("workload = \"list\"", "workload = \"../x <script>\"");
    let definition = Definition::read(&hostile, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options { blocks: Some(2), ..Options::default() }, None).unwrap();
    while let Some(trial) = study.next() {
        let figures = BTreeMap::from([(Metric::Goodput, Figure::from(100.0))]);
        let measured = Measured {
            figures,
            requests: 1,
            validity: Validity::Valid,
            warnings: Vec::new(),
            steady: None,
            kept_up: None,
            host_busy: None,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: BTreeMap::new(),
            resources: BTreeMap::new(),
            record: None,
            placement: Placement::default(),
        };
        study.record_result(&trial, TrialResult::Measured(measured)).unwrap();
    }
    let plots = plot::all(&study.conclude());
    assert_eq!(plots.len(), 3);
    for plot in plots {
        assert!(!plot.file.contains('/') && !plot.file.contains(".."), "{}", plot.file);
        assert!(!plot.svg.contains("<script>"), "{}", plot.file);
    }
}

#[test]
fn a_load_that_is_kept_up_with_has_no_bottleneck_and_the_cheapest_variant_is_named() {
    let mut conclusion = conclusion();
    let section = |conclusion: &Conclusion| {
        let shown = text(&Document::of(conclusion, &made(), &[]), 1_000, Palette::None);
        shown.lines().find(|line| line.contains("at which")).unwrap().to_owned()
    };
    assert!(!section(&conclusion).contains("keeps up"));
    for bound in &mut conclusion.bounds {
        bound.kept_up = true;
        // The one that does less is the cheaper one here.
        bound.throughput = if bound.cell.variant == "stock" { 51.0 } else { 50.0 };
    }
    let said = section(&conclusion);
    assert!(said.contains("fine, list") && said.ends_with(": keeps up with the load"), "{said}");
}

#[test]
fn unknown_figures_are_reported_as_unknown() {
    let shown = text(&Document::of(&grown(), &Provenance::default(), &[]), 100, Palette::None);
    assert!(shown.contains("the CPU time of the service is not visible"), "{shown}");
    assert!(shown.contains("date and machine were not stored"), "{shown}");
    let mut elsewhere = conclusion();
    elsewhere.bounds.clear();
    let shown = text(&Document::of(&elsewhere, &made(), &[]), 100, Palette::None);
    assert!(shown.contains("the trials do not say on which CPUs they ran"), "{shown}");
}

#[test]
fn claims_take_their_place_in_a_file_and_the_rest_stays_as_it_is() {
    let (begin, end) = (claims_begin(""), "<!-- /knee:claims -->");
    let table = summary(&conclusion(), "RESULTS.md");
    let before = format!("# Mine\n\nBy hand.\n\n{begin}\nold\n{end}\n\nBelow, `{begin}` is named.\n");
    let once = with_claims(&before, &begin, &table).unwrap().unwrap();
    assert!(once.starts_with(&format!("# Mine\n\nBy hand.\n\n{begin}\n\n| published statement |")), "{once}");
    assert!(once.ends_with(&format!("\n{end}\n\nBelow, `{begin}` is named.\n")), "{once}");
    assert!(!once.contains("\nold\n") && once.contains("(RESULTS.md)"), "{once}");
    assert_eq!(with_claims(&once, &begin, &table).unwrap().unwrap(), once, "made again it is the same");
    assert_eq!(with_claims("a\n", &begin, &table), Ok(None), "a file without markers is no mistake");
    let other = claims_begin("growth");
    assert_eq!(with_claims(&before, &other, &table), Ok(None), "the table of another study");
    let two = format!("{begin}\n{end}\nbetween\n{other}\nold\n{end}\n");
    let filled = with_claims(&two, &other, &table).unwrap().unwrap();
    assert!(filled.starts_with(&format!("{begin}\n{end}\nbetween\n{other}\n\n|")), "{filled}");
    for unclear in [
        format!("{begin}\n"),
        format!("{end}\n{begin}\n"),
        format!("{begin}\n{end}\n{begin}\n{end}\n"),
        format!("{begin}\n{other}\n{end}\n"),
    ] {
        assert_eq!(with_claims(&unclear, &begin, &table), Err(UnclearMarkers), "{unclear}");
    }
}

#[test]
fn the_first_sentence_is_the_decisive_comparison_and_the_next_says_how_far_to_trust_it() {
    let mut conclusion = conclusion();
    conclusion.claims.clear();
    let first = |conclusion: &Conclusion| {
        let text = markdown(&Document::of(conclusion, &made(), &[]));
        text.lines().filter(|line| !line.is_empty()).skip(1).take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = first(&conclusion);
    assert!(
        lines[0].starts_with("**fine (a lock for each \\| post) vs stock, list: goodput +24."),
        "{lines:?}"
    );
    assert!(lines[0].contains("95 % CI") && lines[0].ends_with("7 blocks), faster.**"), "{lines:?}");
    // Block 5 of stock is invalid.
    let trust =
        "- ⚠ 16 trials: 15 valid, 0 suspect, 1 invalid. Most frequent reason, in 1: \\[lag\\]: When requests";
    assert!(lines[1].starts_with(trust), "{lines:?}");
    let set = |conclusion: &mut Conclusion, validity: Validity| {
        for entry in &mut conclusion.trials {
            if let TrialResult::Measured(measured) = &mut entry.result {
                measured.validity = validity;
            }
        }
    };
    set(&mut conclusion, Validity::Valid);
    conclusion.totals.valid = 16;
    assert_eq!(first(&conclusion)[1], "- All 16 trials are valid.");
    set(&mut conclusion, Validity::Suspect);
    (conclusion.totals.valid, conclusion.totals.suspect) = (0, 16);
    let said = "**No trial is valid (16 suspect): what follows can be the doing of this machine.";
    assert!(first(&conclusion)[0].starts_with(said), "{:?}", first(&conclusion));
}

/// The first paragraph, in one line.
fn lead(conclusion: &Conclusion) -> String {
    let text = markdown(&Document::of(conclusion, &made(), &[]));
    text.split("**").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_study_of_published_claims_says_first_what_became_of_them_and_names_those_that_are_refuted() {
    let mut conclusion = conclusion();
    let said = lead(&conclusion);
    let claims = "Of 2 published claims that can be tested here (1 other cannot), 1 is confirmed and 1 is refuted: \
                  it doubles the rate. Measured: fine (a lock for each \\| post) vs stock, list: goodput +24.6 % (";
    assert!(said.starts_with(claims), "{said}");
    let text = markdown(&Document::of(&conclusion, &made(), &[]));
    assert!(!text.contains("- 3 published claims"), "the counts stand once: {text}");
    conclusion.claims[1].text = "It doubles the rate.".to_owned();
    let said = lead(&conclusion);
    assert!(said.contains("1 is refuted: It doubles the rate. Measured: "), "one full stop: {said}");
    // Eleven are refuted, with long texts, and six others have another result.
    let [first, second, third] = &conclusion.claims[..] else { panic!("the study has three claims") };
    let (first, second, third) = (first.clone(), second.clone(), third.clone());
    conclusion.claims = vec![second; 11];
    for (number, claim) in conclusion.claims.iter_mut().enumerate() {
        claim.text = format!("number {} {}", number + 1, "goes on and on ".repeat(40));
    }
    conclusion.claims.extend(vec![first; 6]);
    conclusion.claims[12].verdict = ClaimVerdict::Undecided;
    conclusion.claims[13].verdict = ClaimVerdict::Open;
    conclusion.claims.extend(vec![third; 2]);
    let said = lead(&conclusion);
    let counts = "Of 17 published claims that can be tested here (2 others cannot), 4 are confirmed, 1 is \
                  undecided, 1 is open and 11 are refuted: number 1 goes";
    assert!(said.starts_with(counts), "{said}");
    assert!(said.contains("…; number 2 goes") && said.contains("…; and 9 more. Measured: fine ("), "{said}");
    assert!(said.ends_with("7 blocks), faster."), "it is not cut: {said}");
    // Claims that nothing can test, and goals, are no published story.
    conclusion.claims.retain(|claim| claim.verdict == ClaimVerdict::Untestable);
    assert!(lead(&conclusion).starts_with("fine (a lock"), "{}", lead(&conclusion));
}

#[test]
fn a_comparison_with_a_side_of_few_valid_trials_is_open_in_every_form_and_says_why() {
    let why = "stock, list: 3 of 8 trials valid, fewer than half";
    let few = |valid: usize| {
        let goals = STUDY.split("[claims.C1]").next().unwrap();
        judged(goals, &|trial| {
            let is_valid = trial.variant == "fine" || trial.block < valid;
            if is_valid { Validity::Valid } else { Validity::Suspect }
        })
    };
    let open = few(3);
    let said = lead(&open);
    let begin = "No verdict. fine (a lock for each \\| post) vs stock, list: goodput +24.";
    assert!(said.starts_with(begin), "{said}");
    assert!(said.ends_with(&format!("8 blocks), open: {why}.")), "{said}");
    let plots = plot::all(&open);
    let document = Document::of(&open, &made(), &plots);
    let (shown, marked) = (text(&document, 4_000, Palette::None), markdown(&document));
    for form in [&shown, &marked] {
        assert!(form.contains(why) && !form.contains("faster"), "{form}");
    }
    assert!(html::study(&open, &made()).contains(why));
    assert!(!plots.is_empty());
    for plot in &plots {
        assert!(!plot.svg.contains("faster"), "{}", plot.svg);
    }
    let primary = &plots.iter().find(|plot| plot.kind == PlotKind::Primary).unwrap().svg;
    assert!(primary.split_once("</desc>").unwrap().1.contains("open"), "{primary}");
    let json: serde_json::Value = serde_json::from_str(&json::render(&open, &made())).unwrap();
    assert_eq!(json["headline"]["open"], serde_json::json!([0]));
    for effect in json["effects"].as_array().unwrap() {
        assert_eq!(effect["verdict"], "open", "{effect:#}");
        let absence = serde_json::json!({ "code": "few_valid", "valid": 3, "trials": 8 });
        let cell = serde_json::json!({ "variant": "stock", "workload": "list" });
        let reason = serde_json::json!({ "code": "not_valid", "cell": cell, "absence": absence });
        assert_eq!(effect["reasons"][0], reason, "{effect:#}");
    }
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert!(lead(&few(4)).ends_with("8 blocks), faster."), "half are enough: {}", lead(&few(4)));
}

#[test]
fn the_first_sentence_says_of_which_side_many_requests_fail() {
    let mut conclusion = conclusion();
    for row in &mut conclusion.timeline {
        if row.metric == Metric::Errors && row.cell.variant == "stock" {
            row.spread.median = 0.4;
        }
    }
    let text = markdown(&Document::of(&conclusion, &made(), &[]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("7 blocks), faster; 40.0 % of the requests of stock fail.**"), "{text}");
}

#[test]
fn trials_of_a_service_that_was_not_steady_are_counted_with_what_to_do_about_it() {
    let mut conclusion = conclusion();
    conclusion.totals.unsteady = 3;
    let said = json::render(&conclusion, &made());
    assert!(said.contains("3 trials measured an unsteady service: try a longer warm-up"), "{said}");
}

#[test]
fn a_claim_about_every_request_that_too_few_trials_measured_says_how_many_it_takes() {
    let mut conclusion = conclusion();
    let claim = &mut conclusion.claims[1];
    let cell = Cell::new("fine", "list");
    claim.basis = Basis::Counted { cell, limit: 250e6, above: 0, of: 4_000, at_most: 0.001 };
    for (verdict, said) in [
        (ClaimVerdict::Undecided, "| undecided: a verdict needs 5 trials |"),
        (ClaimVerdict::Confirmed, "| confirmed |"),
    ] {
        conclusion.claims[1].verdict = verdict;
        let text = markdown(&Document::of(&conclusion, &made(), &[]));
        let row = text.lines().find(|line| line.starts_with("| it doubles the rate"));
        assert!(row.is_some_and(|row| row.contains(said)), "{text}");
    }
}

#[test]
fn a_measured_change_names_the_workloads_where_its_sides_differ_in_them() {
    let mut conclusion = conclusion();
    let Basis::Change { from, to, .. } = &mut conclusion.claims[0].basis else {
        panic!("the first claim compares")
    };
    from.variant.clone_from(&to.variant);
    to.workload = "search".to_owned();
    let text = markdown(&Document::of(&conclusion, &made(), &[]));
    assert!(text.contains("| p50, search vs list: -19.7 %"), "{text}");
}

#[test]
fn published_claims_and_goals_are_two_tables_and_a_changed_one_is_marked() {
    let goals = STUDY.replace("[claims.C2]", "[claims.C2]\ngoal = true");
    let definition = Definition::read(&goals, "study.toml", &|_| true).unwrap();
    let changed = BTreeMap::from([("C1".to_owned(), Nanos::from_secs(1_795_000_000))]);
    let study = Study::new(definition, Options::default(), None).unwrap().with_changed_claims(changed);
    let text = markdown(&Document::of(&study.conclude(), &made(), &[]));
    let (published, goals) = (text.find("## Published claims").unwrap(), text.find("## Goals").unwrap());
    let at = |row: &str| text.find(row).unwrap_or_else(|| panic!("{row}: {text}"));
    let first = "| the lock was the problem (changed after the data of 2026-11-18) | p50: faster |";
    let second = "| it doubles the rate | goodput: faster, 2.00× or more |";
    assert!(published < at(first) && at(first) < goals && goals < at(second), "{text}");
    assert!(text.contains("2 published claims: 1 open, 1 not testable here."), "{text}");
    assert!(text.contains("1 goal: 1 open."), "{text}");
}

#[test]
fn too_few_blocks_for_a_difference_have_a_neutral_sign() {
    let mut conclusion = conclusion();
    conclusion.totals.valid = conclusion.totals.trials;
    conclusion.blocks = conclusion.least_blocks - 1;
    let page = Page::read(&html::study(&conclusion, &made()));
    assert_eq!(page.of_class("sign")[0].text, "–", "no check mark");
    assert!(page.of_class("trust")[0].has_class("neutral"));
}

#[test]
fn the_page_of_two_runs_shows_the_response_times_of_both_in_one_picture() {
    let (one, other) = (super::fixture::healthy_open(), super::fixture::overload());
    let pair = RecordPair::of((&one, "a.knee"), (&other, "b.knee"), None);
    let html = html::record_pair(&pair, (&one, &other));
    let page = Page::read(&html);
    assert_eq!(page.headings()[0].1, "A against B: one run each");
    let (front, _) = html.split_once("<nav").unwrap();
    let front = Page::read(front);
    assert!(front.all("strong").iter().any(|one| one.text == "Percentiles of response time, A and B"));
    let legend: Vec<&str> = front.all("li").iter().map(|one| one.text.as_str()).collect();
    assert!(legend.contains(&"A") && legend.contains(&"B"), "{legend:?}");
}
