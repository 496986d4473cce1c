//! What stops a service, as a user reads it: from a saved run to the explanation of a code.
//!
//! Does not test rules or the layout; `knee-findings` and `knee-report` do.

use crate::program::Home;

/// A Python service that writes head and body apart.
const APART: &[u8] = include_bytes!("../../../knee-findings/tests/records/written-apart.knee");

/// The same service, which writes a response at once.
const AT_ONCE: &[u8] = include_bytes!("../../../knee-findings/tests/records/written-at-once.knee");

#[test]
fn a_report_says_what_stops_the_service_and_nothing_of_a_healthy_one() {
    let home = Home::new();
    let (apart, at_once) = (home.file("apart.knee", APART), home.file("at-once.knee", AT_ONCE));
    let text = home.knee("report").arg(&apart).run().stdout;
    let section: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "What stops it")
        .take_while(|line| !line.is_empty())
        .collect();
    assert!((4..=10).contains(&section.len()), "{text}");
    assert!(section.join(" ").contains("[delayed_ack]") && text.contains("TCP_NODELAY"), "{text}");
    assert!(!home.knee("report").arg(&at_once).run().stdout.contains("What stops it"));
    let run = home.report(&apart.display().to_string());
    assert_eq!(run["findings"]["findings"][0]["code"], "delayed_ack");
}

#[test]
fn all_findings_also_say_which_rules_ran_and_what_the_others_lack() {
    let home = Home::new();
    let at_once = home.file("at-once.knee", AT_ONCE);
    let text = home.knee("report --all-findings").arg(&at_once).run().stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("What stops it nothing found Rules that ran: delayed_ack,"), "{text}");
    assert!(
        words.contains(
            "redis_thread could not run: it needs a Redis or Valkey server (`--observe redis://...`)"
        ),
        "{text}"
    );
}

#[test]
fn a_code_of_a_finding_is_explained_with_its_limits_and_their_source() {
    let home = Home::new();
    let text = home.knee("explain delayed_ack").run().stdout;
    for part in ["Finds:", "Needs:", "Signals:", "Cause:", "Remedy:", "Limits:", "TCP_DELACK_MIN", "hint"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(home.knee("explain").run().stdout.contains("\n  missing_index "));
}
