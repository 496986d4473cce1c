//! Claims about one statement of a database: what decides them, and what leaves them open.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::study::{
    Absence, Basis, ClaimVerdict, Conclusion, Measured, OfStatement, Reason, Trial, TrialResult,
};

use crate::bench::{result, run, study};

/// The lock makes the list of tasks fast, and each request needs one list and four looks.
const SHOP: &str = r#"
[postgres.db]

[statements.list]
like = "select % from tasks % order by %"

[statements.look]
like = "select % from tasks where id = $1"

[design]
kind = "pairs"
pairs = [["stock", "fine"]]
metrics = ["p50"]
"#;

/// A claim about `statement`, with more lines.
fn claim(id: &str, statement: &str, lines: &str) -> String {
    let of = "workload = \"list\"\nvariant = \"fine\"";
    format!("\n[claims.{id}]\ntext = \"{id}\"\n{of}\nstatement = \"{statement}\"\n{lines}\n")
}

/// Statements of a trial of 1,000 requests: calls, and milliseconds of one.
fn executed(trial: &Trial, statements: &[(&str, u64, f64)]) -> BTreeMap<String, OfStatement> {
    let mut random = Random::new(trial.number as u64);
    let mut of = |calls: u64, millis: f64| OfStatement {
        calls,
        time: Nanos((calls as f64 * millis * 1e6 * (0.01 * random.normal()).exp()) as u64),
        requests: 1_000.0,
    };
    statements.iter().map(|(name, calls, millis)| ((*name).to_owned(), of(*calls, *millis))).collect()
}

fn measured(trial: &Trial) -> Measured {
    let TrialResult::Measured(measured) = result(&[(Metric::P50, 20e6)]) else { panic!() };
    let list = if trial.variant == "fine" { 2.0 } else { 40.0 };
    let statements = executed(trial, &[("list", 1_000, list), ("look", 4_000, 0.1)]);
    Measured { statements, ..measured }
}

fn shop(claims: &str, result: impl Fn(&Trial) -> Measured) -> Conclusion {
    run(study(&format!("{SHOP}{claims}")), |trial, _, _| TrialResult::Measured(result(trial)))
}

#[test]
fn a_claim_about_a_statement_is_decided_by_its_executions() {
    let claims = [
        claim("fast", "list", "metric = \"statement_time\"\nagainst = \"stock\"\nchange = \"0.05x\""),
        claim("slow", "list", "metric = \"statement_time\"\nagainst = \"stock\"\nexpect = \"slower\""),
        claim("same", "look", "metric = \"statement_time\"\nagainst = \"stock\"\nexpect = \"same\""),
        claim("calls", "look", "metric = \"statement_calls_per_request\"\nbelow = 4.1\nabove = 3.9"),
        claim("whole", "list", "metric = \"statement_time_per_request\"\nbelow = \"2.2ms\"\ngoal = true"),
        claim("other", "list", "metric = \"statement_time\"\nbelow = \"1ms\""),
        claim(
            "apart",
            "list",
            "metric = \"statement_time\"\nagainst_statement = \"look\"\nexpect = \"more\"\nat_least = \"10x\"",
        ),
    ];
    let conclusion = shop(&claims.concat(), measured);
    let found: Vec<_> = conclusion.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect();
    let expected = [
        ("fast", ClaimVerdict::Confirmed),
        ("slow", ClaimVerdict::Refuted),
        ("same", ClaimVerdict::Confirmed),
        ("calls", ClaimVerdict::Confirmed),
        ("whole", ClaimVerdict::Confirmed),
        ("other", ClaimVerdict::Untestable),
        ("apart", ClaimVerdict::Confirmed),
    ];
    assert_eq!(found, expected, "{:#?}", conclusion.claims);
    let effect = conclusion.effects.iter().find(|effect| effect.metric == Metric::StatementTime).unwrap();
    assert_eq!(effect.to.statement.as_deref(), Some("list"));
    assert!(!effect.reasons.contains(&Reason::NotMerged) && !effect.primary, "{effect:?}");
    assert!(conclusion.timeline.iter().all(|row| !row.cell.is_part()));
}

#[test]
fn a_statement_that_was_not_executed_or_not_counted_leaves_its_claim_open_and_says_which() {
    let faster = "metric = \"statement_time\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let claims = claim("fast", "list", faster);
    let absence = |result: &dyn Fn(&Trial) -> Measured| {
        let conclusion = shop(&claims, result);
        let claim = conclusion.claims[0].clone();
        match claim.basis {
            Basis::NoValidTrial { cell, absence } => {
                assert_eq!(claim.verdict, ClaimVerdict::Open);
                Some((cell.variant, absence))
            }
            _ => None,
        }
    };
    let idle = |trial: &Trial| {
        let statements = executed(trial, &[("list", u64::from(trial.variant == "stock"), 40.0)]);
        Measured { statements, ..measured(trial) }
    };
    assert_eq!(absence(&idle), Some(("fine".to_owned(), Absence::NotExecuted { trials: 10 })));
    let uncounted = |trial: &Trial| Measured { statements: BTreeMap::new(), ..measured(trial) };
    assert_eq!(absence(&uncounted), Some(("stock".to_owned(), Absence::NotCounted { trials: 10 })));
    assert_eq!(absence(&measured), None);
}

#[test]
fn a_block_in_which_a_statement_was_not_executed_does_not_count() {
    let faster = "metric = \"statement_time\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let conclusion = shop(&claim("fast", "list", faster), |trial| {
        let calls = if trial.block == 0 && trial.variant == "fine" { 0 } else { 1_000 };
        let millis = if trial.variant == "fine" { 2.0 } else { 40.0 };
        Measured { statements: executed(trial, &[("list", calls, millis)]), ..measured(trial) }
    });
    assert_eq!(conclusion.claims[0].verdict, ClaimVerdict::Confirmed);
    assert!(
        matches!(conclusion.claims[0].basis, Basis::Change { n_blocks: 9, .. }),
        "{:?}",
        conclusion.claims[0]
    );
}
