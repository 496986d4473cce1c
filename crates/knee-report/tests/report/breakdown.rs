//! Where the time goes: what the text and the page say of the parts of the mean response time.

use knee_findings::{Breakdown, Part, PartKind, Report};
use knee_report::text::{self, Style};
use knee_report::{View, html};

use crate::fixture;

fn part(kind: PartKind, name: &str, seconds: f64, times: Option<f64>) -> Part {
    let source = (!name.is_empty()).then(|| "postgres://127.0.0.1/mail".to_owned());
    Part { kind, name: name.to_owned(), source, seconds, times }
}

fn view(parts: Vec<Part>, unobserved_s: f64) -> View {
    let unknown = Vec::new();
    let breakdown = Breakdown { response_s: 0.0273, parts, waiting_s: 0.027, unobserved_s, unknown };
    let findings = Report { breakdown: Some(breakdown), ..Report::default() };
    View { findings, ..View::of(&fixture::healthy_open()) }
}

/// A slow statement with a hostile name, and what comes with it.
fn slow() -> View {
    let statement =
        "SELECT id, subject\n FROM \u{1b}[2Jmessages WHERE mailbox = $1 ORDER BY id DESC LIMIT $2";
    let parts = vec![
        part(PartKind::Statement, statement, 0.0251, Some(1.0)),
        part(PartKind::Cpu, "mail (pid 4711)", 0.0012, None),
        part(PartKind::Command, "get", 0.0003, Some(2.0)),
    ];
    view(parts, 0.0004)
}

/// The lines of the section, heading included.
fn section(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Where the time goes"));
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn a_report_names_the_parts_of_the_mean_response_time() {
    let text = text::render(&slow(), &Style::default());
    assert_eq!(
        section(&text),
        [
            "Where the time goes (mean response time 27.3 ms)",
            "   25.1 ms  91.9 %  1 x SELECT id, subject\\n FROM \\x1b[2Jmessages WHERE mailbox…",
        ],
        "small parts are left out of the short form"
    );
    let all = text::render(&slow(), &Style { all_findings: true, width: 120, ..Style::default() });
    let rows = section(&all);
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert_eq!(
        rows[2..4],
        ["   1.20 ms   4.4 %  CPU time of mail (pid 4711)", "    300 us   1.1 %  2 x Redis command get"]
    );
    assert!(rows[4].ends_with("at least, in none of these: queue, network, pool, lock, …"), "{rows:?}");
}

#[test]
fn a_report_names_the_service_that_a_response_waits_for() {
    let view = view(vec![part(PartKind::OtherService, "10.0.0.2:443", 0.025, Some(2.0))], 0.0004);
    let text = text::render(&view, &Style::default());
    assert_eq!(section(&text)[1..], ["   25.0 ms  91.6 %  waiting for 2 x 10.0.0.2:443"]);
}

#[test]
fn time_in_nothing_observed_is_in_the_short_form_too() {
    let view = view(vec![part(PartKind::Cpu, "mail (pid 4711)", 0.0002, None)], 0.0268);
    let text = text::render(&view, &Style::default());
    assert_eq!(
        section(&text)[1..],
        ["   26.8 ms  98.2 %  at least, in none of these: queue, network, pool, lock, …"]
    );
}

#[test]
fn a_breakdown_of_small_parts_alone_is_no_section_and_a_server_without_statements_is_named() {
    let view = view(vec![part(PartKind::Cpu, "mail (pid 4711)", 0.0002, None)], 0.0002);
    assert!(section(&text::render(&view, &Style::default())).is_empty());
    let mut slow = slow();
    slow.findings.breakdown.as_mut().unwrap().unknown.push("postgres://127.0.0.1/bare".to_owned());
    let text = text::render(&slow, &Style::default()).replace("\n  ", " ");
    assert!(text.contains("postgres://127.0.0.1/bare does not show its statements"), "{text}");
}

#[test]
fn work_in_parallel_is_said() {
    let view = view(vec![part(PartKind::Statement, "SELECT 1", 0.08, Some(8.0))], 0.0);
    let text = text::render(&view, &Style::default()).replace('\n', " ");
    assert!(text.contains("The observed work takes longer than the responses:"), "{text}");
}

#[test]
fn the_page_has_all_parts_and_what_is_not_observed() {
    let page = html::run(&slow(), None, &Style::default());
    let place = page.find("Where the time goes").unwrap();
    for piece in ["25.1 ms", "Redis command get", "in none of these"] {
        assert!(page[place..].contains(piece), "{piece}");
    }
    assert!(!page.contains('\u{1b}'));
    let without = html::run(&View::of(&fixture::healthy_open()), None, &Style::default());
    assert!(!without.contains("Where the time goes"));
}
