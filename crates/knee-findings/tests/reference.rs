//! The page `docs/reference/findings.md`, written from the rules themselves.
//!
//! Fails when the page is out of step, and rewrites it when `KNEE_UPDATE` is set.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use knee_findings::{CHANGES, RULES};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/findings.md");

const INTRODUCTION: &str = "\
# Findings

A **finding** says what limits the service under load. Rules look for findings in the run and in what observers saw
beside it ([what stops it](../guide/what-stops-it.md)). `knee explain CODE` prints the texts of a rule.

- A **signal** is a measured figure beyond its limit. Signals of one finding come from different measurements.
- Two independent signals make a finding. One signal alone is a **hint**: a place to look at. A rule whose limits end
  in \"or nothing\" gives no hints, because one of its signals is ordinary.
- Findings are ranked by the most that a change can gain, as far as the evidence bounds it. The gain is a bound and
  not a promise.
- A rule that lacks evidence could not run. \"Nothing found\" covers only the rules that ran.
- No rule runs on an invalid run: its figures describe the load generator.
- If one finding explains another about the same thing, the more general one is left out.

This page is generated from the rules. To change it, edit the rule and run `KNEE_UPDATE=1 cargo test -p knee-findings`.

## Rules

From these limits on, a figure counts as a signal. Shares and means are those of the measured time of the run.

| code | finds | needs | limits | source of the limits |
|---|---|---|---|---|
";

const APPLIED: &str = "
## Remedies that `knee find` applies

`knee find` applies these remedies by itself to what it started, and proves them ([what stops
it](../guide/what-stops-it.md)). All others are for people: changes of code, phrases in place of values, and settings of
other programs.

| code | what `knee find` does |
|---|---|
";

const BOUNDS: &str = "
## Bounds

For each observed resource, `knee` computes the busy time per complete response (D) and the number of its servers (m):
CPUs, threads, disks. The resource lets at most m / D responses through per second, whatever their order (Denning and
Buzen, 1978). If the throughput reaches 85 % of this bound, the resource is the limit. If it reaches no bound, look for
a lock, a pool or the client.
";

#[test]
fn the_page_of_findings_has_a_row_for_every_rule() {
    let mut page = INTRODUCTION.to_owned();
    for rule in RULES {
        let cells = [rule.finds, rule.needs, rule.limits, rule.source].map(|text| text.replace('|', "\\|"));
        writeln!(page, "| `{}` | {} |", rule.code, cells.join(" | ")).unwrap();
    }
    page.push_str(APPLIED);
    for (code, change) in CHANGES {
        writeln!(page, "| `{code}` | {change} |").unwrap();
    }
    page.push_str(BOUNDS);
    if std::env::var_os("KNEE_UPDATE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "docs/reference/findings.md: run KNEE_UPDATE=1 cargo test -p knee-findings");
}
