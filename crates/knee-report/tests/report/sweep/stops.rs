//! What a sweep says stops the service at its limit: at which level, what is also there well below it, in which form.

use knee_core::validity::Validity;
use knee_findings::{Confidence, Level, NotRun, Report as Found};
use knee_report::sweep::stops::{StepFindings, Stops};
use knee_report::sweep::{json, markdown, text};
use knee_report::text::Style;
use knee_report::{SweepView, html, kept};
use knee_study::sweep::{Config, FinishedStep, Ladder, Report};
use serde_json::Value;

use super::{LIMIT, SCHEMA, about, config, healthy, report};
use crate::finding::finding;
use crate::page::Page;

/// What is said of a finding that is also there at the smallest load.
const ALSO: &str = "also at 600 requests/s: not caused by full load, and can set the limit";

/// What rules found that could run but for one of them.
fn found(codes: &[&'static str]) -> Found {
    Found {
        findings: codes.iter().map(|code| finding(code, Confidence::Likely)).collect(),
        ran: vec!["many_statements", "missing_index"],
        could_not_run: vec![NotRun { code: "redis_thread", lacks: "a Redis or Valkey server".into() }],
        ..Found::default()
    }
}

/// Findings of each step.
fn each(report: &Report, found: impl Fn(&FinishedStep) -> Found) -> Vec<StepFindings> {
    let of =
        |trial: &FinishedStep| StepFindings { number: trial.step.number, found: found(trial), level: None };
    report.trials.iter().map(of).collect()
}

/// Many statements at every level, and a missing index that counts from the limit on.
fn index_at_the_limit(report: &Report) -> Vec<StepFindings> {
    each(report, |trial| {
        let is_high = trial.result.offered > 0.9 * LIMIT;
        found(if is_high { &["missing_index", "many_statements"] } else { &["many_statements"] })
    })
}

#[test]
fn the_first_level_beyond_the_capacity_is_looked_at_and_what_is_there_at_small_loads_too_says_so() {
    let report = healthy();
    let seen = Stops::of(&report, &index_at_the_limit(&report)).unwrap();
    assert_eq!((seen.place.as_str(), seen.is_beyond), ("4,270 requests/s", true));
    assert_eq!(report.capacity.interval().map(|capacity| capacity.high), Some(seen.level));
    let codes: Vec<&str> = seen.found.findings.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["missing_index", "many_statements"]);
    assert_eq!(seen.also, [Some(false), Some(true)]);
    assert_eq!(seen.notes, ["", ALSO]);
}

#[test]
fn what_takes_most_at_every_level_stays_first_because_its_cost_per_request_can_be_the_limit() {
    let report = healthy();
    let steps = each(&report, |trial| {
        let is_high = trial.result.offered > 0.9 * LIMIT;
        found(if is_high { &["many_statements", "missing_index"] } else { &["many_statements"] })
    });
    let seen = Stops::of(&report, &steps).unwrap();
    let codes: Vec<&str> = seen.found.findings.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["many_statements", "missing_index"]);
    assert_eq!(seen.notes, [ALSO, ""]);
}

#[test]
fn where_no_level_beyond_the_limit_is_valid_the_limit_is_not_called_unseen() {
    let mut report = healthy();
    let capacity = report.capacity.interval().unwrap();
    for trial in report.trials.iter_mut().filter(|trial| trial.step.load.level() >= capacity.high) {
        trial.result.state = Validity::Invalid;
    }
    let seen = Stops::of(&report, &index_at_the_limit(&report)).unwrap();
    assert!(seen.level < capacity.high && !seen.is_beyond && seen.limit_seen, "{seen:?}");
    assert!(seen.remark().ends_with("the highest valid level: steps beyond the limit are not valid"));
}

#[test]
fn the_text_says_at_which_level_before_it_shows_the_curve() {
    let (report, about) = (healthy(), about());
    let view = SweepView::of(&report, &about).with_findings(&index_at_the_limit(&report));
    let text = text::render(&view, &Style { width: 400, ..Style::default() });
    let before = text.split("\nResponse time ").next().unwrap();
    let section = before.trim_end().split("\n\n").last().unwrap();
    assert!(section.starts_with("What stops it at 4,270 requests/s\n  a statement scans"), "{text}");
    let other = format!("[many_statements]\n    {ALSO}\n");
    assert!(section.contains(&other), "{section}");
    assert!(section.ends_with("`knee explain missing_index` has the limits"), "{section}");
    let narrow = text::render(&view, &Style::default());
    let lines = narrow.lines().skip_while(|line| !line.starts_with("What stops it"));
    let count = lines.take_while(|line| !line.is_empty()).count();
    assert!((4..=10).contains(&count), "{narrow}");
}

#[test]
fn where_nothing_was_found_the_sweep_says_for_want_of_what_rules_could_not_run() {
    let (report, about) = (healthy(), about());
    let nothing = each(&report, |_| found(&[]));
    let view = SweepView::of(&report, &about).with_findings(&nothing);
    let text = text::render(&view, &Style::default());
    let said = "What stops it at 4,270 requests/s\n  nothing found; 1 rule could not run for want of a Redis or \
                Valkey server\n";
    assert!(text.contains(said), "{text}");
    let markdown = markdown::render(&view, &Style::default());
    assert!(markdown.contains("- nothing found; 1 rule could not run"), "{markdown}");
    let page = Page::read(&html::sweep(&view, &Style::default()));
    assert!(page.all("p").iter().any(|one| one.text.starts_with("nothing found; 1 rule")));
}

#[test]
fn a_sweep_whose_highest_level_passed_looks_there_and_says_that_no_limit_was_seen() {
    let few = Config { ladder: Ladder::List(vec![20.0, 30.0]), ..config(&[]) };
    let report = report(few, f64::INFINITY);
    let seen = Stops::of(&report, &each(&report, |_| found(&["many_statements"]))).unwrap();
    assert!(!seen.is_beyond && !seen.limit_seen);
    assert_eq!(seen.remark(), "at 30 requests/s, the highest level: no limit was seen");
    assert_eq!((seen.lower, seen.also), (None, vec![None]), "20 of 30 is no small load");
}

#[test]
fn the_document_has_the_findings_with_their_level_as_its_schema_says() {
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let (report, about) = (healthy(), about());
    let document = |steps: &[StepFindings]| -> Value {
        let view = SweepView::of(&report, &about).with_findings(steps);
        let document = serde_json::from_str(&json::render(&view)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
        document
    };
    let whole = document(&index_at_the_limit(&report));
    let findings = &whole["findings"];
    assert_eq!((&findings["level"], &findings["lower_level"]), (&Value::from(4_270.0), &Value::from(600.0)));
    assert_eq!(findings["also_at_lower_level"], serde_json::json!([false, true]));
    assert_eq!(findings["report"]["findings"][0]["code"], "missing_index");
    assert_eq!(document(&[])["findings"], Value::Null);
}

#[test]
fn page_and_markdown_name_the_level_and_the_saved_result_has_all_findings() {
    let (report, about, style) = (healthy(), about(), Style::default());
    let view = SweepView::of(&report, &about).with_findings(&index_at_the_limit(&report));
    let page = Page::read(&html::sweep(&view, &style));
    let limits = &page.of_class("limits")[0].text;
    assert!(limits.contains("At 4,270 requests/s: a statement scans"), "{limits}");
    assert!(page.of_class("note").iter().any(|note| note.text.starts_with("also at 600 requests/s")));
    let markdown = markdown::render(&view, &style);
    assert!(markdown.contains("\n## What stops it at 4,270 requests/s\n\n- **a statement"), "{markdown}");
    assert!(markdown.contains("also at 600"), "{markdown}");
    let all = kept::sweep(&view, &style).printed.all_findings.unwrap();
    assert!(all.contains("  Rules that ran: many_statements, missing_index"), "{all}");
    assert!(all.contains("  redis_thread could not run: it needs a Redis or Valkey server"), "{all}");
    let unexamined = kept::sweep(&SweepView::of(&report, &about), &style).printed;
    assert_eq!(unexamined.all_findings, Some(unexamined.text), "nothing to examine is no error");
}

#[test]
fn places_for_which_requests_queue_are_found_over_all_levels_of_a_sweep() {
    let report = healthy();
    let lacks = "a closed load of several levels; `knee sweep` makes one".to_owned();
    let steps: Vec<StepFindings> = report
        .trials
        .iter()
        .map(|trial| {
            let (load, throughput) = (trial.step.load.level(), trial.result.goodput);
            let response = trial.result.response_mean().unwrap();
            let not_run = NotRun { code: "fixed_places", lacks: lacks.clone() };
            StepFindings {
                number: trial.step.number,
                found: Found { could_not_run: vec![not_run], ..Found::default() },
                level: Some(Level { load, throughput, response, busy: Some(0.3) }),
            }
        })
        .collect();
    let seen = Stops::of(&report, &steps).unwrap();
    let [only] = seen.found.findings.as_slice() else { panic!("{:?}", seen.found) };
    assert_eq!(only.code, "fixed_places");
    assert!(only.statement.contains("about 8 places"), "{}", only.statement);
    assert_eq!(seen.found.could_not_run, []);
}
