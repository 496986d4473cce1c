//! The length and the first lines of results, for the studies of the labs and for some that were made up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use knee_core::validity::Validity;
use knee_report::study::plot;
use knee_report::study::{Commands, Document, LINES_MAX, Provenance, markdown};
use knee_study::definition::Definition;
use knee_study::metric::{Metric, Unit};
use knee_study::study::{
    Conclusion, Figure, Measured, Options, Placement, Study, Trial, TrialResult, TrialWarning,
};

/// Every `study.toml` below the labs, except the shop with a defect in each of its variants: `knee find` looks at them one by
/// one, and all pairs under all workloads would take minutes to judge.
fn definitions() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.file_name().unwrap().to_str().unwrap() {
                "study.toml" => found.push(entry),
                "findings" => {}
                _ if entry.is_dir() => folders.push(entry),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// A number between 0 and 1 that depends on the trial alone.
fn noise(trial: &Trial, salt: u64) -> f64 {
    let name = format!("{} {} {} {} {salt}", trial.variant, trial.workload, trial.block, trial.attempt);
    let mixed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (mixed >> 40) as f64 / f64::from(1 << 24)
}

/// A result with every figure and with a place among the variants. Some trials are not valid, some services die.
fn result(study: &Study, trial: &Trial) -> TrialResult {
    if noise(trial, 1) < 0.01 {
        return TrialResult::Died { reason: "of old age, and of what a service says at length ".repeat(20) };
    }
    let place = study.variants().iter().position(|variant| variant.name == trial.variant).unwrap_or(0);
    let size = 1.0 + place as f64 * 0.4 + noise(trial, 2) * 0.1;
    let figure = |metric: Metric| match metric.unit() {
        Unit::Share => 0.01 * noise(trial, 3),
        Unit::Time => 20e6 / size,
        Unit::PerSecond => 1_000.0 * size,
        Unit::Count | Unit::Bytes => 100.0 * size,
    };
    let figures: BTreeMap<Metric, Figure> =
        Metric::ALL.iter().map(|metric| (*metric, Figure::from(figure(*metric)))).collect();
    let codes = ["run_delay", "lag", "worker_cpu", "steal", "surplus", "littles_law", "rate", "cut_short"];
    let rank = (noise(trial, 4) * 16.0) as usize;
    let validity = match rank {
        0..4 => Validity::Invalid,
        4..8 => Validity::Suspect,
        _ => Validity::Valid,
    };
    let warnings =
        codes.iter().take(rank % 8).map(|code| TrialWarning::new(*code, format!("{code} was {rank} %")));
    let cpus =
        ["generator", "service.main", "postgres.main"].map(|part| (part.to_owned(), format!("{}", rank % 3)));
    TrialResult::Measured(Measured {
        figures,
        requests: 5_000,
        host_busy: None,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        validity,
        warnings: warnings.collect(),
        steady: None,
        kept_up: None,
        record: None,
        placement: Placement { cpus: cpus.into(), ..Placement::default() },
    })
}

/// The study after all of its trials.
fn concluded(text: &str, name: &str) -> Conclusion {
    let definition = Definition::read(text, name, &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let result = result(&study, &trial);
        study.record_result(&trial, result).unwrap();
    }
    study.conclude()
}

fn results(conclusion: &Conclusion) -> String {
    let made = Provenance {
        sessions: Vec::new(),
        commands: Some(Commands {
            folder: "the root of the repository".to_owned(),
            repeat: "knee study labs/x".to_owned(),
            report: "knee study labs/x --report-only".to_owned(),
        }),
        plots: Some("plots".to_owned()),
    };
    markdown(&Document::of(conclusion, &made, &plot::all(conclusion)))
}

#[test]
fn results_of_every_study_of_the_labs_have_at_most_200_lines_and_end_in_the_commands() {
    assert_eq!(LINES_MAX, 200);
    let files = definitions();
    assert!(files.len() >= 20, "{files:?}");
    // Calculating the verdicts of all studies takes a minute, so two threads share it.
    let next = AtomicUsize::new(0);
    let check_all = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_results(file);
        }
    };
    thread::scope(|scope| {
        scope.spawn(check_all);
        check_all();
    });
}

/// Length, commands, rows of claims and the place of the picture, in the results of one study.
fn check_results(file: &Path) {
    let conclusion = concluded(&fs::read_to_string(file).unwrap(), &file.display().to_string());
    let text = results(&conclusion);
    let lines = text.lines().count();
    // The program adds a line that says who wrote the file.
    assert!(lines <= LINES_MAX - 2, "{} has {lines} lines", file.display());
    assert!(text.contains("\nknee study labs/x\n"), "{text}");
    let rows = |heading: &str| {
        let section =
            text.split_once(heading).map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or(""));
        section.lines().filter(|line| line.starts_with("| ")).count().saturating_sub(1)
    };
    let shown = rows("\n## Published claims\n") + rows("\n## Goals\n");
    assert_eq!(shown, conclusion.claims.len(), "{}: every claim has a row", file.display());
    let picture = text.find("\n![").unwrap_or_else(|| panic!("no picture: {text}"));
    assert!(text[..picture].lines().count() < 50, "the picture is on the first screen: {text}");
}

#[test]
fn results_of_a_study_with_hundreds_of_claims_and_endless_texts_have_at_most_200_lines_too() {
    let long = "a text that goes on and on ".repeat(200);
    let mut text = format!(
        "title = \"{long}\"\nquestion = \"{long}\"\n[service.main]\ncommand = [\"server\", \"{{port}}\"]\n"
    );
    text.push_str("[switches.level]\ndefault = 0\nenv = \"LEVEL\"\n");
    for variant in 0..40 {
        let _ =
            write!(text, "[variants.v{variant}]\ntext = \"{long}\"\nswitches = {{ level = {variant} }}\n");
    }
    for workload in 0..12 {
        let _ = write!(text, "[workloads.w{workload}]\ntext = \"{long}\"\npath = \"/{workload}\"\n");
    }
    text.push_str("[design]\nkind = \"ladder\"\nblocks = 8\nmetrics = [\"goodput\"]\n");
    for claim in 0..300 {
        let _ = write!(
            text,
            "[claims.C{claim}]\ntext = \"{claim} {long}\"\ngoal = {}\nvariant = \"v{}\"\nworkload = \"w0\"\n\
             metric = \"goodput\"\nabove = \"1/s\"\n",
            claim % 2 == 0,
            claim % 40
        );
    }
    let definition = Definition::read(&text, "study.toml", &|_| true).unwrap();
    let options = Options { blocks: Some(1), ..Options::default() };
    let mut study = Study::new(definition, options, None).unwrap();
    while let Some(trial) = study.next() {
        let result = result(&study, &trial);
        study.record_result(&trial, result).unwrap();
    }
    let text = results(&study.conclude());
    assert!(text.lines().count() <= LINES_MAX - 2, "{} lines", text.lines().count());
    assert!(text.contains("more, in the JSON") && text.contains("\nknee study labs/x\n"));
}

/// A valid trial of 1,000 requests with one figure.
fn valid(metric: Metric, figure: f64) -> TrialResult {
    TrialResult::Measured(Measured {
        figures: BTreeMap::from([(metric, Figure::from(figure))]),
        requests: 1_000,
        host_busy: None,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: None,
        kept_up: None,
        record: None,
        placement: Placement::default(),
    })
}

/// A study of two variants in so many blocks; the second one takes 9.4 % longer, give or take a little, and in the first
/// block so many times as long.
fn a_little_slower(blocks: usize, first: f64) -> Conclusion {
    let text = r#"title = "two"
[service.main]
command = ["server", "{port}"]
[switches.level]
default = 0
env = "LEVEL"
[variants.old]
[variants.new]
switches = { level = 1 }
[workloads.list]
path = "/"
[design]
kind = "pairs"
baseline = "old"
blocks = 8
metrics = ["p50"]
margin = "25%"
[claims.same]
text = "nothing changed"
variant = "new"
against = "old"
workload = "list"
metric = "p50"
expect = "same"
"#;
    let definition = Definition::read(text, "study.toml", &|_| true).unwrap();
    let options = Options { blocks: Some(blocks), ..Options::default() };
    let mut study = Study::new(definition, options, None).unwrap();
    while let Some(trial) = study.next() {
        let factor = match (trial.variant.as_str(), trial.block) {
            ("new", 0) => first,
            ("new", block) => 1.094 + 0.01 * (block % 3) as f64 - 0.01,
            _ => 1.0,
        };
        study.record_result(&trial, valid(Metric::P50, 10e6 * factor)).unwrap();
    }
    study.conclude()
}

#[test]
fn a_certain_change_within_the_margin_is_called_less_than_the_margin_and_not_the_same() {
    // Eight blocks show the direction. Six of which one has the other direction cannot: 4 of their 64 sign patterns are
    // as extreme. But they exclude both no change and a change beyond the margin.
    for (blocks, first, change, verdict) in [
        (8, 1.084, "p50 +9.", "slower, less than the margin of 25.0 %"),
        (6, 0.995, "p50 +7.", "less than the margin of 25.0 %"),
    ] {
        let text = results(&a_little_slower(blocks, first));
        let lead = text.split("**").nth(1).unwrap().replace('\n', " ");
        assert!(lead.contains(change) && lead.ends_with(&format!("{verdict}.")), "{blocks}: {lead}");
        assert!(!lead.contains("same"), "{lead}");
        let claim = text.lines().find(|line| line.starts_with("| nothing changed")).unwrap();
        assert!(claim.contains(&format!(", {verdict} | confirmed |")), "the claim agrees: {claim}");
    }
}

#[test]
fn five_blocks_that_agree_have_no_verdict_and_the_first_sentence_and_the_claim_say_how_many_it_takes() {
    let text = results(&a_little_slower(5, 1.084));
    let lead = text.split("**").nth(1).unwrap().replace('\n', " ");
    assert!(lead.contains("5 blocks), undecided; a verdict needs 6 blocks."), "{lead}");
    let claim = text.lines().find(|line| line.starts_with("| nothing changed")).unwrap();
    assert!(claim.contains(" | undecided: a verdict needs 6 blocks |"), "{claim}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("5 blocks cannot give a verdict: it takes 6"), "{text}");
}

/// A ladder of three variants under two workloads: an index does nothing, and `batch` is the fix.
fn steps() -> Conclusion {
    let text = r#"title = "steps"
[service.main]
command = ["server", "{port}"]
[switches.level]
default = 0
env = "LEVEL"
[variants.plain]
[variants.index]
text = "with an index"
switches = { level = 1 }
[variants.scan]
text = "scans are forbidden"
switches = { level = 2 }
[variants.batch]
text = "orders that wait share a transaction"
switches = { level = 3 }
[workloads.orders]
path = "/orders"
[workloads.list]
path = "/list"
[design]
kind = "ladder"
blocks = 8
metrics = ["goodput"]
"#;
    let definition = Definition::read(text, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let rate = match (trial.variant.as_str(), trial.workload.as_str()) {
            ("plain" | "index", _) => 100.0,
            ("scan", "orders") => 4_000.0,
            ("batch", "orders") => 24_000.0,
            _ => 150.0,
        };
        let goodput = rate * (1.0 + 0.02 * noise(&trial, 7));
        study.record_result(&trial, valid(Metric::Goodput, goodput)).unwrap();
    }
    study.conclude()
}

#[test]
fn results_of_a_ladder_begin_with_the_fix_and_the_next_one_and_say_what_did_nothing() {
    let text = results(&steps());
    let lead = text.split("**").nth(1).unwrap().replace('\n', " ");
    let begin = "The largest step is scan (scans are forbidden) vs index, orders: 39.9× goodput (95 % CI ";
    let next = "faster. Next: batch (orders that wait share a transaction) vs scan, orders: 6.0";
    assert!(lead.starts_with(begin) && lead.contains(next), "{lead}");
    let joined = text.replace("\n  ", " ");
    for point in [
        "- All 64 trials are valid.",
        "- The same under other workloads: list: goodput +",
        "- All steps together, batch vs plain, orders: 24",
        "- No difference shown: index vs plain, orders (",
    ] {
        assert!(joined.contains(point), "{point}: {text}");
    }
}
