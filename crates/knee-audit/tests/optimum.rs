//! A row that is called optimal although another row is better is found with its arithmetic. The check is silent where
//! the words or the other columns allow another meaning.
//!
//! The tables are written here. What the other checks say about them is left out.

use knee_audit::finding::{Finding, Grade};
use knee_audit::{Known, audit};

/// What the check finds in a text.
fn findings(text: &str) -> Vec<Finding> {
    let report = audit("table.md", text.as_bytes(), &Known::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    report.findings.into_iter().filter(|finding| finding.check == "optimum").collect()
}

/// Fails if the check finds anything in a text.
#[track_caller]
fn assert_silent(text: &str) {
    let found = findings(text);
    assert!(found.is_empty(), "{found:?}\n{text}");
}

/// A text with a table.
fn table(titles: &str, rows: &[&str]) -> String {
    let rows: String = rows.iter().map(|cells| format!("| {cells} |\n")).collect::<Vec<_>>().concat();
    format!("| {titles} |\n|{}\n{rows}", "---|".repeat(titles.split('|').count()))
}

/// The second row has less throughput and a longer mean than the first, and this note.
fn noted(note: &str) -> String {
    let second = format!("200 | 32,055 | 6.0ms | {note}");
    table("Connections | Requests/s | Average | Notes", &["100 | 37,908 | 2.5ms | Peak", second.as_str()])
}

/// The same rows with one more column.
fn with(title: &str, first: &str, second: &str) -> String {
    let titles = format!("Connections | Requests/s | Average | Notes | {title}");
    let first = format!("100 | 37,908 | 2.5ms | | {first}");
    let second = format!("200 | 32,055 | 6.0ms | Optimal | {second}");
    table(&titles, &[first.as_str(), second.as_str()])
}

#[test]
fn a_reader_can_redo_the_comparison_of_a_row_that_is_called_optimal_with_a_better_one() {
    let found = findings(&noted("Optimal for sustained load"));
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = &found[0];
    assert_eq!(
        (finding.grade, finding.line, finding.subject.as_str()),
        (Grade::Misleading, 4, "200 connections")
    );
    assert_eq!(
        finding.says,
        "called \"Optimal for sustained load\", but the row \"100 connections\" (line 3) has more throughput and \
         shorter times"
    );
    assert_eq!(
        finding.arithmetic,
        [
            "throughput: 37,908 / 32,055 = 1.18 times as much (line 3 / line 4)",
            "mean: 2.5ms / 6.0ms = 0.417 times as long"
        ]
    );
    assert!(finding.cause.contains("such as the load"), "{}", finding.cause);
}

#[test]
fn every_word_that_calls_a_row_better_than_all_others_is_read() {
    for note in [
        "optimal",
        "Optimum",
        "BEST",
        "**Fastest**",
        "sweet spot",
        "The sweet-spot!",
        "✅ Optimal",
        "Optimal (recommended)",
        "Recommended - best performance",
        "Best and fastest",
        "The optimal configuration for production",
    ] {
        assert_eq!(findings(&noted(note)).len(), 1, "{note}");
    }
}

#[test]
fn words_that_deny_or_limit_the_remark_raise_no_alarm() {
    for note in [
        "not optimal",
        "Optimal? No",
        "No longer the best",
        "isn't optimal",
        "Optimal, but unstable",
        "suboptimal",
        "sub-optimal",
        "near-optimal",
        "nearly optimal",
        "less than optimal",
        "second best",
        "best effort",
        "best-effort delivery",
        "best case",
        "best of 3",
        "best practice",
        "best price",
        "best value",
        "Optimal, lowest memory",
        "fastest in Java",
        "Fastest Java framework",
        "optimal CPU usage",
        "was optimal",
        "GET /best",
        "bestseller",
        "Peak efficiency",
        "highest",
        "",
    ] {
        assert_silent(&noted(note));
    }
}

#[test]
fn titles_headings_and_columns_of_the_best_run_are_no_remarks() {
    let rows = ["100 | 37,908 | 2.5ms", "200 | 32,055 | 6.0ms"];
    let text =
        format!("# Best\n\n## Optimal\n\n{}", table("Optimal connections | Requests/s | Average", &rows));
    assert_silent(&text);
    let rows = ["100 | 37,908 | 2.5ms | 1.1ms", "200 | 32,055 | 6.0ms | 0.9ms"];
    assert_silent(&table("Connections | Requests/s | Average | Best", &rows));
    let rows = ["100 | 37,908 | 2.5ms | 1.1ms", "200 | 32,055 | 6.0ms | 1.9ms (best)"];
    assert_silent(&table("Connections | Requests/s | Average | Fastest", &rows));
}

#[test]
fn a_word_alone_can_be_the_name_of_a_row_or_of_a_setting() {
    let titles = "Configuration | Requests/s | Average";
    assert_silent(&table(titles, &["none | 37,908 | 2.5ms", "fastest | 32,055 | 6.0ms"]));
    assert_silent(&table(titles, &["none | 37,908 | 2.5ms", "gzip (best) | 32,055 | 6.0ms"]));
    let found =
        findings(&table(titles, &["4 workers | 37,908 | 2.5ms", "8 workers (optimal) | 32,055 | 6.0ms"]));
    assert_eq!(found.len(), 1);
    let titles = "Server | Level | Requests/s | Average";
    assert_silent(&table(titles, &["a | none | 37,908 | 2.5ms", "b | Optimal | 32,055 | 6.0ms"]));
    // The number of connections is read, and the words after it are a remark.
    let titles = "Connections | Requests/s | Average";
    assert_eq!(
        findings(&table(titles, &["100 | 37,908 | 2.5ms", "200 (sweet spot) | 32,055 | 6.0ms"])).len(),
        1
    );
}

#[test]
fn a_table_without_throughput_or_without_times_raises_no_alarm() {
    let rows = ["100 | 2.5ms | ", "200 | 6.0ms | Optimal"];
    assert_silent(&table("Connections | Average | Notes", &rows));
    let rows = ["100 | 37,908 | ", "200 | 32,055 | Optimal"];
    assert_silent(&table("Connections | Requests/s | Notes", &rows));
}

#[test]
fn the_other_row_must_be_better_by_five_percent_and_worse_in_nothing() {
    let found = |rate: &str, mean: &str| {
        let first = format!("100 | {rate} | {mean} | ");
        let rows = [first.as_str(), "200 | 10,001 | 10.01ms | Optimal"];
        !findings(&table("Connections | Requests/s | Average | Notes", &rows)).is_empty()
    };
    assert!(found("10,601", "9.41ms"));
    assert!(!found("10,401", "9.41ms"), "4 % more throughput");
    assert!(!found("10,601", "9.61ms"), "4 % shorter");
    assert!(!found("10,601", "10.11ms"), "longer");
    assert!(!found("9,401", "9.41ms"), "less throughput");
    assert!(!found("~10,601", "9.41ms"), "about 10,601 can be 9,541");
    assert_eq!(findings(&with("p99", "20ms", "20ms")).len(), 1);
    assert_eq!(findings(&with("p99", "19ms", "20ms"))[0].arithmetic.len(), 3);
    assert_silent(&with("p99", "21ms", "20ms"));
}

#[test]
fn a_row_with_more_errors_is_not_better() {
    assert_silent(&with("Success Rate", "99.9%", "100%"));
    assert_eq!(findings(&with("Success Rate", "100%", "99.9%")).len(), 1);
    assert_silent(&with("Errors", "5", "0"));
    assert_eq!(findings(&with("Errors", "0", "5")).len(), 1);
    assert_silent(&with("Errors", "0.2%", "0%"));
    // Not comparable: one row has a share, the other a number, or none.
    assert_silent(&with("Errors", "0%", "5"));
    assert_silent(&with("Errors", "", "5"));
    assert_silent(&with("Comment", "❌ crashed after a minute", ""));
}

#[test]
fn a_row_can_be_the_best_in_a_figure_that_is_not_read() {
    assert_silent(&with("Price", "$40", "$20"));
    assert_eq!(findings(&with("Price", "$20", "$20")).len(), 1);
    assert_silent(&with("p99", "timeout", "20ms"));
    assert_silent(&with("Reason", "", "lowest memory"));
    // Of two columns of throughput, one is read.
    assert_silent(&with("Requests/s, HTTP/2", "50,123", "60,123"));
}

#[test]
fn rows_that_are_each_called_the_best_are_so_for_their_own_purpose() {
    let rows = ["100 | 37,908 | 2.5ms | Best for small teams", "200 | 32,055 | 6.0ms | Best for production"];
    assert_silent(&table("Connections | Requests/s | Average | Notes", &rows));
    // A third row that is better than the second is still named.
    let rows = [rows[0], rows[1], "50 | 36,908 | 1.5ms | "];
    let found = findings(&table("Connections | Requests/s | Average | Notes", &rows));
    assert!(found[0].says.contains("\"50 connections\" (line 5)"), "{found:?}");
}

#[test]
fn of_several_better_rows_the_best_is_named_and_the_others_are_counted() {
    let titles = "Connections | Requests/s | Average | Notes";
    let (called, better) = ("200 | 32,055 | 6.0ms | Optimal", "50 | 35,100 | 4.5ms | ");
    let (best, slow) = ("100 | 37,908 | 2.5ms | ", "25 | 20,000 | 1.0ms | ");
    for (rows, line) in [([better, best, called, slow], 4), ([best, called, slow, better], 3)] {
        let found = findings(&table(titles, &rows));
        assert_eq!(found.len(), 1, "{found:?}");
        let says = &found[0].says;
        assert!(says.contains(&format!("\"100 connections\" (line {line})")), "{says}");
        assert!(says.ends_with("shorter times; 1 more row has, too"), "{says}");
        assert!(found[0].arithmetic[0].starts_with("throughput: 37,908 / 32,055"), "{found:?}");
    }
    let third = "75 | 36,000 | 3.0ms | ";
    let found = findings(&table(titles, &[better, third, best, called]));
    assert!(found[0].says.ends_with("; 2 more rows have, too"), "{found:?}");
}

#[test]
fn of_better_rows_with_the_same_throughput_the_one_with_the_shorter_times_is_named() {
    let (quick, slower) = ("50 | 37,908 | 2.5ms | ", "100 | 37,908 | 4.5ms | ");
    let called = "200 | 32,055 | 6.0ms | Optimal";
    for rows in [[quick, slower, called], [slower, quick, called]] {
        let found = findings(&table("Connections | Requests/s | Average | Notes", &rows));
        assert!(found[0].says.contains("\"50 connections\""), "{found:?}");
    }
}
