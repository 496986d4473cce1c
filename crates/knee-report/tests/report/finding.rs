//! What a user sees of findings: ten lines at most, figures beside limits, hostile names harmless, JSON by its schema.
//!
//! Does not test rules; `knee-findings` does.

use knee_findings::{
    Bound, Confidence, Finding, Gain, Limit, NotRun, Remedy, Report, Signal, Subject, SubjectKind, Unit,
};
use knee_report::text::Style;
use knee_report::{View, json, text};

use super::fixture;
use super::json as schema;

pub fn finding(code: &'static str, confidence: Confidence) -> Finding {
    let signal =
        |what: &str, figure, unit, limit| Signal { what: what.into(), figure, unit, limit, source: "a view" };
    Finding {
        code,
        subject: Subject {
            kind: SubjectKind::Statement,
            name: "SELECT id FROM tasks WHERE organization_id = $1".into(),
            source: Some("postgres://127.0.0.1/shop".into()),
        },
        statement: "a statement scans public.tasks (240,000 rows) for 50 rows, 95 % of the database's time"
            .into(),
        evidence: vec![
            signal("blocks read per row returned", 80.0, Unit::Count, Limit::AtLeast(50.0)),
            signal(
                "rows per sequential scan of public.tasks",
                240_000.0,
                Unit::Count,
                Limit::AtLeast(10_000.0),
            ),
            signal("share of the rows that the plan keeps", 0.004, Unit::Share, Limit::AtMost(0.05)),
        ],
        remedy: Remedy::Index { table: "public.tasks".into(), columns: vec!["organization_id".into()] },
        gain: Some(Gain::MeanResponse {
            from: 0.084,
            to: 0.023,
            bound: "the statement takes 61 ms per request".into(),
        }),
        confidence,
    }
}

fn report(findings: Vec<Finding>) -> Report {
    Report {
        findings,
        ran: vec!["delayed_ack", "missing_index"],
        could_not_run: vec![NotRun { code: "redis_thread", lacks: "a Redis or Valkey server".into() }],
        bounds: Bound::of("CPUs of host".into(), 4.0, 38.0, 10_000.0, 1_000.0).into_iter().collect(),
        breakdown: None,
    }
}

pub fn view(findings: Vec<Finding>) -> View {
    View { findings: report(findings), ..View::of(&fixture::healthy_open()) }
}

/// The lines of the section, heading included.
fn section(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| *line != "What stops it").take_while(|line| !line.is_empty()).collect()
}

#[test]
fn nothing_found_is_no_section_unless_everything_is_asked_for() {
    let view = view(Vec::new());
    assert!(section(&text::render(&view, &Style::default())).is_empty());
    let all = text::render(&view, &Style { all_findings: true, ..Style::default() });
    assert_eq!(
        section(&all),
        [
            "What stops it",
            "  nothing found",
            "  Bound: CPUs of host: 3.80 ms per response allow 1,053/s, 95.0 % reached: this",
            "         is the limit",
            "  Rules that ran: delayed_ack, missing_index",
            "  redis_thread could not run: it needs a Redis or Valkey server",
        ]
    );
}

#[test]
fn a_finding_has_its_figures_beside_the_limits_its_remedy_and_its_gain() {
    let text = text::render(&view(vec![finding("missing_index", Confidence::Strong)]), &Style::default());
    assert_eq!(
        section(&text),
        [
            "What stops it",
            "  a statement scans public.tasks (240,000 rows) for 50 rows, 95 % of the",
            "  database's time [missing_index]",
            "    blocks read per row returned 80 (limit 50); rows per sequential scan of",
            "    public.tasks 240,000 (limit 10,000); share of the rows that the plan keeps",
            "    0.40 % (limit 5.0 %)",
            "    remedy: an index on public.tasks (organization_id)",
            "    predicted: mean response time 84.0 ms to 23.0 ms: the statement takes 61 ms",
            "               per request",
            "  `knee explain missing_index` has the limits",
        ]
    );
}

#[test]
fn many_findings_take_ten_lines_and_say_where_the_others_are() {
    let mut findings = vec![finding("missing_index", Confidence::Likely); 12];
    findings.push(finding("two_populations", Confidence::Hint));
    for width in [60, 80, 200] {
        let style = Style { width, ..Style::default() };
        let text = text::render(&view(findings.clone()), &style);
        let lines = section(&text);
        assert!(lines.len() <= 10 && lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
        assert!(lines.last().unwrap().contains("more: `knee report --all-findings`"), "{lines:#?}");
        let all = text::render(&view(findings.clone()), &Style { all_findings: true, ..style });
        assert!(section(&all).len() > 20 && all.contains("hint: a statement scans"));
    }
}

#[test]
fn hostile_names_in_findings_reach_no_terminal() {
    let bite = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\r\n\u{202e}gnp";
    let mut hostile = finding("missing_index", Confidence::Likely);
    hostile.statement = format!("a statement scans {bite}");
    hostile.subject.name = bite.into();
    hostile.subject.source = Some(bite.into());
    hostile.evidence[0].what = bite.into();
    hostile.remedy = Remedy::Index { table: bite.into(), columns: vec![bite.into()] };
    let view = view(vec![hostile]);
    for all_findings in [false, true] {
        let text = text::render(&view, &Style { all_findings, ..Style::default() });
        assert!(!text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'), "{text}");
    }
    assert!(!json::render(&view).chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn findings_in_the_document_are_as_the_schema_says() {
    let validator = jsonschema::draft202012::new(&schema::schema()).unwrap();
    let mut other = finding("cpu_full", Confidence::Likely);
    other.gain = Some(Gain::Throughput { from: 1_000.0, to: 2_000.0, bound: "twice the CPUs".into() });
    other.remedy = Remedy::Environment { name: "WEB_CONCURRENCY".into(), value: "4".into() };
    let view = view(vec![finding("missing_index", Confidence::Strong), other]);
    let document: serde_json::Value = serde_json::from_str(&json::render(&view)).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["findings"]["findings"][0]["remedy"]["columns"][0], "organization_id");
}
