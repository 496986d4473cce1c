//! `labs/findings/CONFUSION.md`: the answer first, then every look.
//!
//! The same looks give the same bytes. Does not look and does not score.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::expected::{Defect, Expected, HEALTHY, List};
use super::saved::{Looked, Saved};
use super::score::{Outcome, Score, Share, outcome, score};

/// Goals of the trial.
const RECALL: f64 = 0.9;
const TOP: f64 = 0.85;
const HEALTHY_FINDINGS_OF_20: f64 = 1.0;

/// A figure of a list at which no look was made.
const NOT_TRIED: &str = "not tried yet";

/// Adds a line. Writing to a text cannot fail.
macro_rules! put {
    ($page:expr) => { $page.push('\n') };
    ($page:expr, $($text:tt)*) => {{
        let _ = writeln!($page, $($text)*);
    }};
}

/// What stands above the rows of all lists.
const ABOUT_ROWS: &str = "\
Codes in parentheses are hints. A dash: no rule is meant for this defect. The last column is the mean response time,
and in parentheses that of the healthy twin: where both are alike, the defect costs little at this load.";

/// The page.
pub(super) fn write(expected: &Expected, saved: &Saved) -> String {
    let mut page = String::from(
        "# What the rules find in a shop with seeded defects\n\n<!-- Written by `cargo xtask defects` from confusion.json. -->\n\n",
    );
    answer(&mut page, expected, saved);
    how(&mut page, saved);
    put!(page, "## Seeded defects\n\n{ABOUT_ROWS}\n");
    for list in List::ALL {
        defects(&mut page, list, &expected.only(list), saved);
    }
    healthy(&mut page, expected, saved);
    codes(&mut page, &score(expected, saved));
    page
}

fn answer(page: &mut String, expected: &Expected, saved: &Saved) {
    let lists = List::ALL.map(|list| score(&expected.only(list), saved));
    let row = |page: &mut String, what: &str, goal: &str, cell: &dyn Fn(&Score) -> String| {
        let cells = lists.each_ref().map(cell);
        put!(page, "| {what} | {} | {goal} |", cells.join(" | "));
    };
    put!(page, "| | {} | goal |", List::ALL.map(List::name).join(" | "));
    put!(page, "|{}", "---|".repeat(List::ALL.len() + 2));
    row(page, "defects found", "at least 90 %", &|score| goal(score.recall, RECALL));
    row(page, "of those for which a rule is meant", "", &|score| shown(score.recall_with_rule));
    row(page, "first finding is right", "at least 85 %", &|score| goal(score.top, TOP));
    row(page, "wrong findings in healthy configurations", "at most 1 in 20", &in_healthy);
    row(page, "findings and hints that are right", "", &|score| shown(score.precision));
    put!(page);
    for (list, score) in List::ALL.into_iter().zip(&lists) {
        if score.missing > 0 {
            put!(
                page,
                "The trial of the {} is not finished; looks that are missing: {}.\n",
                list.name(),
                score.missing
            );
        }
    }
}

/// What was found in healthy configurations.
fn in_healthy(score: &Score) -> String {
    if score.healthy == 0 {
        return NOT_TRIED.to_owned();
    }
    let limit = HEALTHY_FINDINGS_OF_20 * score.healthy as f64 / 20.0;
    let is_met = score.healthy_findings as f64 <= limit;
    let hints = match score.healthy_hints {
        1 => "1 hint".to_owned(),
        more => format!("{more} hints"),
    };
    format!("{} in {}, and {hints}: {}", score.healthy_findings, score.healthy, met(is_met))
}

/// A share that has a goal.
fn goal(share: Share, least: f64) -> String {
    if share.all == 0 { shown(share) } else { format!("{}: {}", shown(share), met(share.value() >= least)) }
}

const fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

/// A share with its interval.
pub(super) fn shown(share: Share) -> String {
    if share.all == 0 {
        return NOT_TRIED.to_owned();
    }
    let (low, high) = share.interval();
    format!(
        "{} of {}, {:.0} % (95 % CI {:.0} to {:.0} %)",
        share.of,
        share.all,
        share.value() * 100.0,
        low * 100.0,
        high * 100.0
    )
}

fn how(page: &mut String, saved: &Saved) {
    let set = |of: fn(&Looked) -> &str| -> String {
        let all: BTreeSet<&str> = saved.looks.iter().map(of).filter(|text| !text.is_empty()).collect();
        all.into_iter().collect::<Vec<_>>().join("; ")
    };
    put!(
        page,
        "Each row is one look of `knee find` at a fresh shop with its own PostgreSQL and Redis, and with all observers. knee\n\
         sees HTTP and what it observes. The codes to compare with were fixed before the first trial of each list\n\
         ([expected.toml](expected.toml)), by an author who did not know the code of the rules. Codes of rules that were written\n\
         afterwards were added, and are named there. A hint never counts as found, and always counts against\n\
         precision. Interval: Wilson. One look per row, so a row near a limit can change with the next look.\n\n\
         **The rules have learned from all lists.** What to expect in a service of your own is what rules found that had not\n\
         seen the list: [19 of 39](FIRST-TRIAL.md) in the first, [6 of 16](SECOND-TRIAL.md), [3 of 14](THIRD-TRIAL.md),\n\
         [7 of 14](FOURTH-TRIAL.md), [4 of 14](FIFTH-TRIAL.md), [8 of 14](SIXTH-TRIAL.md), [6 of 14](SEVENTH-TRIAL.md),\n\
         [10 of 14](EIGHTH-TRIAL.md) and [8 of 14](NINTH-TRIAL.md) in those after it, 71 of 153 in all (46 %). After each\n\
         trial, rules, observers and some loads were changed (README.md says how). All lists but the first are of published\n\
         incidents. Each was written by an author who knew the codes of the rules and what they find (of the ninth: their\n\
         names alone), but neither their code nor which defects they had found.\n\
         The last three entries of the first list were seeded after these trials, while another author wrote their rules.\n"
    );
    put!(
        page,
        "knee {}; {}. Everything that was said: [confusion.json](confusion.json).\n",
        set(|look| &look.build),
        set(|look| &look.machine)
    );
}

fn defects(page: &mut String, list: List, expected: &Expected, saved: &Saved) {
    put!(page, "### The {}\n", list.name());
    put!(page, "| defect | entry of the list | expected | said, in order | result | goodput | mean (twin) |");
    put!(page, "|---|---|---|---|---|---|---|");
    for defect in &expected.defect {
        let look = saved.look(&defect.name, &defect.workload);
        let twin = mean(saved.look(HEALTHY, &defect.workload));
        put!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            defect.name,
            entry(defect),
            codes_of(&defect.expects, "–"),
            look.map_or_else(|| "not looked at".to_owned(), said),
            look.map_or_else(
                || "– | – | –".to_owned(),
                |look| format!("{} | {} ({twin})", word(outcome(defect, look)), figures(look))
            )
        );
    }
    put!(page);
}

fn entry(defect: &Defect) -> String {
    let of = defect
        .source
        .as_ref()
        .map_or_else(|| defect.of.clone(), |source| format!("[{}]({source})", defect.of));
    defect.note.as_ref().map_or_else(|| of.clone(), |note| format!("{of} ({note})"))
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::First => "found, first",
        Outcome::Found => "found, not first",
        Outcome::Hinted => "**missed**, a hint",
        Outcome::Missed => "**missed**",
        Outcome::NotLookedFor => "**missed**, the rule could not run",
        Outcome::NoRun => "**missed**, no valid run",
    }
}

fn codes_of(codes: &[String], none: &str) -> String {
    if codes.is_empty() {
        return none.to_owned();
    }
    codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(" or ")
}

fn said(look: &Looked) -> String {
    if let Some(problem) = &look.problem {
        return format!("no run: {}", problem.replace('|', "\\|").replace('\n', " "));
    }
    if look.validity == "invalid" {
        return format!("invalid run ({})", look.warnings.join(", "));
    }
    let one = |said: &super::saved::Said| {
        if said.is_hint() { format!("(`{}`)", said.code) } else { format!("`{}`", said.code) }
    };
    let all: Vec<String> = look.said.iter().map(one).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn figures(look: &Looked) -> String {
    let goodput = look.goodput_per_s.map_or_else(|| "–".to_owned(), |goodput| format!("{goodput:.0}/s"));
    format!("{goodput} | {}", mean(Some(look)))
}

fn mean(look: Option<&Looked>) -> String {
    look.and_then(|look| look.mean_ms).map_or_else(|| "–".to_owned(), |mean| format!("{mean:.1} ms"))
}

fn healthy(page: &mut String, expected: &Expected, saved: &Saved) {
    put!(page, "## Healthy configurations\n");
    put!(
        page,
        "| workload | said, in order | validity | goodput | mean response time |\n|---|---|---|---|---|"
    );
    for case in expected.cases().iter().filter(|case| case.is_healthy()) {
        let look = saved.look(&case.variant, &case.workload);
        let (said, validity) = look.map_or_else(
            || ("not looked at".to_owned(), "–".to_owned()),
            |look| (said(look), look.validity.clone()),
        );
        let figures = look.map_or_else(|| "– | –".to_owned(), figures);
        put!(page, "| {} | {said} | {validity} | {figures} |", case.workload);
    }
    put!(page);
}

fn codes(page: &mut String, score: &Score) {
    put!(page, "## By code\n");
    put!(
        page,
        "Codes that were expected or said. A defect with two codes counts for the code that was said.\n"
    );
    put!(
        page,
        "| code | finds its defects | true beside another finding, or a hint at its defect | wrong on other defects | on healthy |"
    );
    put!(page, "|---|---|---|---|---|");
    for (code, said) in &score.codes {
        let found = if said.found.all == 0 {
            "–".to_owned()
        } else {
            format!("{} of {}", said.found.of, said.found.all)
        };
        put!(page, "| `{code}` | {found} | {} | {} | {} |", said.beside, said.wrong, said.healthy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset_was_found() -> Saved {
        let mut saved = Saved::default();
        saved.put(Looked {
            variant: "offset".to_owned(),
            workload: "archive".to_owned(),
            validity: "valid".to_owned(),
            said: vec![super::super::saved::Said {
                code: "deep_offset".to_owned(),
                confidence: "strong".to_owned(),
                statement: String::new(),
            }],
            goodput_per_s: Some(39.6),
            ..Looked::default()
        });
        saved
    }

    const FIRST: &str = "[[defect]]\nname = 'offset'\nof = 'News: deep OFFSET'\nworkload = 'archive'\n\
                         expects = ['deep_offset']\n";
    const SECOND: &str = "[[defect]]\nname = 'pause'\nof = 'A pause'\nworkload = 'list'\nexpects = []\n\
                          list = 'second'\nsource = 'https://example.org'\n";

    #[test]
    fn the_answer_stands_first_and_a_look_that_is_missing_is_said() {
        let expected = Expected::read(FIRST).unwrap();
        let page = write(&expected, &offset_was_found());
        let row = "| defects found | 1 of 1, 100 % (95 % CI 21 to 100 %): met | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | at least 90 % |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("first list is not finished; looks that are missing: 1."), "{page}");
        assert!(page.contains("| archive | not looked at |"), "{page}");
        let row =
            "| `offset` | News: deep OFFSET | `deep_offset` | `deep_offset` | found, first | 40/s | – (–) |";
        assert!(page.contains(row), "{page}");
        assert!(page.find("defects found").unwrap() < page.find("## Seeded").unwrap());
    }

    #[test]
    fn one_hint_is_a_hint() {
        let score = |healthy_hints| Score { healthy: 31, healthy_hints, ..Score::default() };
        assert_eq!(
            [1, 2].map(|hints| in_healthy(&score(hints))),
            ["0 in 31, and 1 hint: met", "0 in 31, and 2 hints: met"]
        );
    }

    #[test]
    fn each_list_has_its_own_score_and_the_page_says_which_one_the_rules_have_seen() {
        let expected = Expected::read(&format!("{FIRST}{SECOND}")).unwrap();
        let mut saved = offset_was_found();
        let looked = |variant: &str, said| Looked {
            variant: variant.to_owned(),
            workload: "list".to_owned(),
            validity: "valid".to_owned(),
            said,
            ..Looked::default()
        };
        saved.put(looked("pause", Vec::new()));
        saved.put(looked(HEALTHY, Vec::new()));
        let page = write(&expected, &saved);
        let row = "| defects found | 1 of 1, 100 % (95 % CI 21 to 100 %): met \
                   | 0 of 1, 0 % (95 % CI 0 to 79 %): **missed** | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | at least 90 % |";
        assert!(page.contains(row), "{page}");
        let healthy = "| not tried yet | 0 in 1, and 0 hints: met | not tried yet | not tried yet \
                       | not tried yet | not tried yet | not tried yet | not tried yet | not tried yet | at most 1 in 20 |";
        assert!(page.contains(healthy), "{page}");
        assert!(page.contains("| `pause` | [A pause](https://example.org) | – | nothing |"), "{page}");
    }
}
