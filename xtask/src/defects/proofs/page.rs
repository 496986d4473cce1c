//! `labs/findings/PROOFS.md`: the share of remedies with a verdict first, then every search.
//!
//! The same searches give the same bytes. Does not search and does not judge.

use std::collections::BTreeSet;

use super::super::page::shown;
use super::super::score::Share;
use super::Lab;
use super::proven::{Proofs, Proven, Remedy};

const HEAD: &str = "\
# Which remedies `knee find` proves by itself in a shop with seeded defects

<!-- Written by `cargo xtask proofs` from proofs.json. -->
";

const NOTHING: &str =
    "Nothing was tried yet: `cargo xtask proofs` tries all remedies that knee can apply by itself.";

const ABOUT: &str = "\
Each row is one search of `knee find` in a fresh shop with its own PostgreSQL and Redis: a look with all observers, a look
with the remedy, and trials with and without it in random order, each with a fresh process and the seeded data. Searched
are the defects for which a rule with such a remedy is meant, or spoke at the last look of [the trial](CONFUSION.md);
[the reference](../../docs/reference/findings.md#remedies-that-knee-find-applies) lists these rules. A remedy has a verdict
if the trials decide: better, worse, or no change beyond the margin. The switch of the lab that ends the defect is never
the remedy. Interval of the share: Wilson.";

const ABOUT_TRIED: &str = "\
The means are those of the trials without and with the remedy, and of one look at the healthy twin. The last column but one
is the part of the difference between the defect and its twin that the remedy closes; a dash where the difference is below
10 %.";

/// The page.
pub(super) fn write(lab: &Lab, proofs: &Proofs) -> String {
    let mut lines = vec![HEAD.to_owned()];
    if proofs.searches.is_empty() {
        lines.push(NOTHING.to_owned());
    } else {
        answer(&mut lines, lab, proofs);
        how(&mut lines, proofs);
        tried(&mut lines, proofs);
        left_out(&mut lines, proofs);
        without(&mut lines, proofs);
    }
    lines.join("\n") + "\n"
}

fn answer(lines: &mut Vec<String>, lab: &Lab, proofs: &Proofs) {
    // Two findings can have one remedy.
    let can = |search: &Proven| {
        let changes = search.remedies.iter().filter_map(|remedy| remedy.change.as_deref());
        changes.collect::<BTreeSet<&str>>().len()
    };
    let all: usize = proofs.searches.iter().map(can).sum();
    let decided = Share { of: proofs.searches.iter().filter(|search| search.is_decided()).count(), all };
    let is_better = |search: &&Proven| search.is_decided() && search.verdict.as_deref() == Some("better");
    let better = proofs.searches.iter().filter(is_better).count();
    let goal = if decided.of == decided.all { "met" } else { "**missed**" };
    lines.extend([
        "| | | goal |".to_owned(),
        "|---|---|---|".to_owned(),
        format!(
            "| remedies that knee can apply by itself, with a verdict | {} | all: {goal} |",
            shown(decided)
        ),
        format!("| of those with a verdict, the service is better with the remedy | {better} | |"),
        format!("| findings whose remedy a person must apply | {} | |", for_people(lab, proofs)),
        String::new(),
    ]);
}

/// Findings with a remedy for people, at the last search of each defect, or at the last look if it was not searched.
fn for_people(lab: &Lab, proofs: &Proofs) -> usize {
    let of = |case: &super::Case| match proofs.search(&case.variant, &case.workload) {
        Some(search) => search.remedies.iter().filter(|remedy| remedy.is_for_people()).count(),
        None => lab
            .looks
            .look(&case.variant, &case.workload)
            .map_or(0, |look| look.findings().filter(|said| !lab.codes.contains(&said.code)).count()),
    };
    lab.expected.cases().iter().filter(|case| !case.is_healthy()).map(of).sum()
}

fn how(lines: &mut Vec<String>, proofs: &Proofs) {
    let set = |of: fn(&Proven) -> String| -> String {
        let all: BTreeSet<String> = proofs.searches.iter().map(of).filter(|text| !text.is_empty()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    lines.extend([
        ABOUT.to_owned(),
        String::new(),
        format!(
            "knee {}; {}. A look and a trial measure for {} s. Everything that was said: [proofs.json](proofs.json).\n",
            set(|search| search.build.clone()),
            set(|search| search.machine.clone()),
            set(|search| search.seconds.to_string())
        ),
    ]);
}

fn tried(lines: &mut Vec<String>, proofs: &Proofs) {
    lines.extend([
        format!("## Tried\n\n{ABOUT_TRIED}\n"),
        "| defect | finding | remedy | answer | mean without | with | healthy twin | closed | minutes |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ]);
    let rows = proofs.searches.iter().filter_map(|search| {
        let remedy = search.tried()?;
        Some(format!(
            "| `{}` | `{}` | {} | {} | {} | {} | {} | {} | {:.1} |",
            search.variant,
            remedy.code,
            cell(remedy.change.as_deref().unwrap_or_default()),
            cell(&search.sentence),
            ms(search.without_mean_ms),
            ms(search.with_mean_ms),
            ms(search.twin_mean_ms),
            search.closed().map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0)),
            search.minutes
        ))
    });
    lines.extend(rows);
    lines.push(String::new());
}

/// Remedies that knee could apply, and did not.
fn left_out(lines: &mut Vec<String>, proofs: &Proofs) {
    lines.push("## Not tried, although knee can apply them\n".to_owned());
    let of = |search: &Proven, remedy: &Remedy| {
        let (change, why) = (remedy.change.as_deref()?, remedy.why_not.as_deref()?);
        Some(format!("| `{}` | `{}` | {} | {} |", search.variant, remedy.code, cell(change), cell(why)))
    };
    let rows = proofs
        .searches
        .iter()
        .flat_map(|search| search.remedies.iter().filter_map(move |remedy| of(search, remedy)));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        lines.push("None.\n".to_owned());
        return;
    }
    lines.extend(["| defect | finding | remedy | why not |".to_owned(), "|---|---|---|---|".to_owned()]);
    lines.extend(rows);
    lines.push(String::new());
}

/// Searches without a remedy that knee can apply.
fn without(lines: &mut Vec<String>, proofs: &Proofs) {
    lines.push("## Searched, without a remedy that knee can apply\n".to_owned());
    let has_none = |search: &&Proven| search.remedies.iter().all(|remedy| remedy.change.is_none());
    let rows: Vec<String> = proofs
        .searches
        .iter()
        .filter(has_none)
        .map(|search| {
            let answer = search.problem.as_ref().map(|problem| format!("failed: {problem}"));
            format!("| `{}` | {} |", search.variant, cell(answer.as_ref().unwrap_or(&search.sentence)))
        })
        .collect();
    if rows.is_empty() {
        lines.push("None.".to_owned());
        return;
    }
    lines.extend(["| defect | answer |".to_owned(), "|---|---|".to_owned()]);
    lines.extend(rows);
}

fn ms(mean: Option<f64>) -> String {
    mean.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.1} ms"))
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::super::expected::Expected;
    use super::super::super::saved::{Looked, Said, Saved};
    use super::*;

    const EXPECTED: &str = "[[defect]]\nname = 'a'\nof = 'A: a'\nworkload = 'list'\nexpects = ['missing_index']\n\
                            [[defect]]\nname = 'b'\nof = 'A: b'\nworkload = 'names'\nexpects = ['nagle']\n";

    fn lab() -> Lab {
        let mut looks = Saved::default();
        let said =
            Said { code: "nagle".to_owned(), confidence: "strong".to_owned(), statement: String::new() };
        looks.put(Looked {
            variant: "b".to_owned(),
            workload: "names".to_owned(),
            said: vec![said],
            ..Looked::default()
        });
        Lab {
            folder: std::path::PathBuf::new(),
            expected: Expected::read(EXPECTED).unwrap(),
            looks,
            codes: BTreeSet::from(["missing_index".to_owned()]),
        }
    }

    fn remedy(change: &str, why_not: Option<&str>) -> Remedy {
        Remedy {
            code: "missing_index".to_owned(),
            is_hint: false,
            change: Some(change.to_owned()),
            why_not: why_not.map(str::to_owned),
        }
    }

    #[test]
    fn the_share_with_a_verdict_stands_first_and_a_remedy_that_was_left_out_counts_against_it() {
        let mut proofs = Proofs::default();
        assert!(write(&lab(), &proofs).ends_with(
            "Nothing was tried yet: `cargo xtask proofs` tries all remedies that knee can apply by itself.\n"
        ));
        proofs.put(Proven {
            variant: "a".to_owned(),
            workload: "list".to_owned(),
            seconds: 6,
            sentence: "missing index on a | b; with the remedy, mean falls".to_owned(),
            remedies: vec![
                remedy("CREATE INDEX ON a (b)", None),
                remedy("CREATE INDEX ON a (b)", None),
                remedy("CREATE INDEX ON a (c)", Some("one")),
            ],
            verdict: Some("better".to_owned()),
            without_mean_ms: Some(100.0),
            with_mean_ms: Some(20.0),
            twin_mean_ms: Some(20.0),
            minutes: 3.0,
            ..Proven::default()
        });
        let page = write(&lab(), &proofs);
        let first = "| remedies that knee can apply by itself, with a verdict | 1 of 2, 50 % (95 % CI 9 to 91 %) | all: **missed** |";
        assert!(page.contains(first), "{page}");
        assert!(page.contains("| findings whose remedy a person must apply | 1 | |"), "{page}");
        let row = "| `a` | `missing_index` | CREATE INDEX ON a (b) | missing index on a \\| b; with the remedy, mean falls \
                   | 100.0 ms | 20.0 ms | 20.0 ms | 100 % | 3.0 |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| `a` | `missing_index` | CREATE INDEX ON a (c) | one |"), "{page}");
        assert!(page.ends_with("## Searched, without a remedy that knee can apply\n\nNone.\n"), "{page}");
    }
}
