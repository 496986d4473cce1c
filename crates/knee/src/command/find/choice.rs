//! Which remedy is tried, and where; why the others are not; and how a remedy that is not tried can be proven by hand.
//!
//! Only what knee started is changed. Does not change anything itself.

use knee_core::fixture::{Declaration, Reset};
use knee_findings::{Change as Wanted, Finding, Remedy, Report};
use knee_observe::Target;
use knee_report::find::{Considered, Proof};
use knee_study::definition::{Definition, Variant};
use knee_study::proof::{self, Change};

/// Why ANALYZE is not tried where resets bring back saved data.
const ANALYZED: &str = "knee runs ANALYZE before it saves the seeded data, so that only what the service loads afterwards has old statistics";

/// Why the remedies of other findings are not tried.
const ONE: &str = "a search tries one remedy";

/// The same where one was tried.
const ONE_TRIED: &str = "a search tries one remedy: run it again with the first one applied";

/// A store that is up, as the fixture names it, and its addresses.
pub struct Known {
    /// `postgres.NAME`.
    pub name: String,
    /// Its own and that of its replica, with their passwords. What changes the server changes its replica.
    pub urls: Vec<String>,
}

/// A finding with the change that its remedy makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its place among the findings.
    pub finding: usize,
    /// The change.
    pub change: Change,
}

/// The first finding whose remedy knee can apply to what it started. A switch that the study declares as the remedy comes
/// before knee's own. Hints can be wrong, so they are tried last, and only with a switch: the study's authors chose it.
pub fn choose(report: &Report, study: &Definition, variant: &Variant, stores: &[Known]) -> Option<Choice> {
    let chosen = |hints: bool| {
        let mut found = report.findings.iter().enumerate().filter(|(_, finding)| finding.is_hint() == hints);
        found.find_map(|(place, finding)| {
            let change = possible(finding, study, variant, stores).ok()?;
            Some(Choice { finding: place, change })
        })
    };
    chosen(false).or_else(|| chosen(true))
}

/// The change that knee can make for a finding to what it started; or why it makes none, as a clause without a full stop.
///
/// # Errors
///
/// The clause.
pub fn possible(
    finding: &Finding,
    study: &Definition,
    variant: &Variant,
    stores: &[Known],
) -> Result<Change, String> {
    if let Some(switch) = proof::switched(study, variant, finding.code) {
        return Ok(switch);
    }
    let own = change(finding, &study.fixture, &variant.service, stores).filter(|_| !finding.is_hint());
    let own = own.ok_or_else(|| refusal(finding, "what it did not start"))?;
    let reset = study.fixture.service.get(&variant.service).map(|service| service.reset);
    // Statements run once after the seed; then the statistics of all that is saved are made.
    if matches!(finding.remedy, Remedy::Analyze { .. }) && reset != Some(Reset::Seed) {
        return Err(ANALYZED.to_owned());
    }
    Ok(own)
}

/// What became of the remedy of each finding, of which knee can apply those that are `possible`. The proof is about that
/// of the finding in the place `chosen`, and about the same change for other findings: two statements can lack one index.
pub fn considered(
    report: &Report,
    possible: impl Fn(&Finding) -> Result<Change, String>,
    chosen: Option<usize>,
    proof: &Proof,
) -> Vec<Considered> {
    let asked = chosen.and_then(|place| possible(report.findings.get(place)?).ok());
    let of = |(place, finding): (usize, &Finding)| match possible(finding) {
        Err(why) => Considered { finding: place, change: None, why_not: Some(why) },
        Ok(change) => {
            let why_not = match (proof, asked.as_ref() == Some(&change)) {
                (Proof::Tried(_), true) => None,
                (Proof::NotTried { why, .. }, true) => Some(why.clone()),
                (Proof::Tried(_), false) => Some(ONE_TRIED.to_owned()),
                (Proof::NotTried { .. }, false) => Some(ONE.to_owned()),
            };
            Considered { finding: place, change: Some(words(&change)), why_not }
        }
    };
    report.findings.iter().enumerate().map(of).collect()
}

/// The codes that the study calls remedies of, and that no rule has.
pub fn unknown_codes(study: &Definition) -> Vec<String> {
    let known: Vec<&str> = knee_findings::RULES.iter().map(|rule| rule.code).collect();
    let codes = study.switches.values().flat_map(|switch| switch.remedies.keys());
    codes.filter(|code| !known.contains(&code.as_str())).cloned().collect()
}

fn change(finding: &Finding, declared: &Declaration, service: &str, stores: &[Known]) -> Option<Change> {
    match finding.remedy.change()? {
        Wanted::Statement(statement) => {
            Some(Change::Sql { server: server(finding, declared, stores)?, statement })
        }
        Wanted::Setting { name, value } => {
            Some(Change::Setting { server: server(finding, declared, stores)?, name, value })
        }
        Wanted::Environment { name, value } => {
            let started = declared.service.get(service).is_some_and(|service| service.address.is_none());
            started.then_some(Change::Environment { name, value })
        }
    }
}

/// The server that a finding is about, if knee started it.
fn server(finding: &Finding, declared: &Declaration, stores: &[Known]) -> Option<String> {
    let source = finding.subject.source.as_deref()?;
    let is_named = |url: &String| Target::parse(url).is_ok_and(|target| target.name() == source);
    let is_it = |store: &&Known| store.urls.iter().any(is_named);
    let name = stores.iter().find(is_it)?.name.strip_prefix("postgres.")?;
    declared.postgres.get(name).is_some_and(|server| server.address.is_none()).then(|| name.to_owned())
}

/// What a change does, in one line.
pub fn words(change: &Change) -> String {
    match change {
        Change::Sql { server, statement } => format!("{statement} in postgres.{server}"),
        Change::Setting { server, name, value } => format!("{name} = {value} in postgres.{server}"),
        Change::Environment { name, value } => format!("{name}={value} for the service"),
        Change::Switch { name, value } => format!("{name} = {value}, a switch of the study"),
    }
}

/// The short name of a change, as the variant with it is called.
pub fn short_name<'a>(finding: &'a Finding, change: Option<&'a Change>) -> &'a str {
    match change {
        Some(Change::Switch { name, .. }) => name,
        _ => finding.remedy.name(),
    }
}

/// Why no remedy of these findings is tried, by the first of them. `where_from` says what knee does not write to.
pub fn why_not(report: &Report, where_from: &str) -> String {
    report.findings.first().map(|first| refusal(first, where_from)).unwrap_or_default()
}

/// Why the remedy of a finding is not tried. `where_from` says what knee does not write to.
pub fn refusal(finding: &Finding, where_from: &str) -> String {
    match finding.remedy.change() {
        _ if finding.is_hint() => "a hint rests on one figure, so knee does not try its remedy".to_owned(),
        Some(Wanted::Statement(_) | Wanted::Setting { .. }) => {
            format!("knee does not write to {where_from}")
        }
        Some(Wanted::Environment { .. }) => format!("knee does not change {where_from}"),
        None => "knee cannot apply this remedy by itself".to_owned(),
    }
}

/// The variant with the remedy of the first finding, for the user's own `study.toml`.
pub fn study_toml(finding: &Finding, variant: &str, change: Option<&Change>) -> Vec<String> {
    let name = format!("{variant} + {}", short_name(finding, change));
    let mut lines = vec![
        "# in study.toml:".to_owned(),
        format!("[variants.{}]", quoted(&name)),
        format!("extends = {}", quoted(variant)),
    ];
    match change {
        Some(Change::Sql { server, statement }) => {
            lines.push(format!("sql = {{ {} = [{}] }}", quoted(server), quoted(statement)));
        }
        Some(Change::Setting { server, name, value }) => {
            lines.push(format!(
                "settings = {{ {} = {{ {} = {} }} }}",
                quoted(server),
                quoted(name),
                quoted(value)
            ));
        }
        Some(Change::Environment { name, value }) => {
            lines.push(format!("env = {{ {} = {} }}", quoted(name), quoted(value)));
        }
        Some(Change::Switch { name, value }) => {
            lines.push(format!("switches = {{ {} = {} }}", quoted(name), quoted(value)));
        }
        None => {
            lines.push(format!("# the remedy: {}", one_line(&finding.remedy.to_string())));
            lines.push("# as `switches`, `env`, `command`, `sql` or `settings`".to_owned());
        }
    }
    lines.extend([
        String::new(),
        "[design]".to_owned(),
        "kind = \"pairs\"".to_owned(),
        format!("pairs = [[{}, {}]]", quoted(variant), quoted(&name)),
    ]);
    lines
}

/// A text in quotes, as TOML reads it.
fn quoted(text: &str) -> String {
    // A text always has a form in JSON, whose escapes TOML has too.
    serde_json::to_string(text).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing was tried, because of `why`.
pub fn not_tried(why: impl Into<String>, by_hand: Vec<String>) -> Proof {
    Proof::NotTried { why: why.into(), by_hand }
}

#[cfg(test)]
mod tests {
    use knee_findings::{Confidence, Remedy, Subject, SubjectKind};

    use super::*;

    fn finding(remedy: Remedy, source: &str, confidence: Confidence) -> Finding {
        Finding {
            code: "missing_index",
            subject: Subject {
                kind: SubjectKind::Statement,
                name: "select".into(),
                source: Some(source.into()),
            },
            statement: "a statement scans todos".into(),
            evidence: Vec::new(),
            remedy,
            gain: None,
            confidence,
        }
    }

    fn index() -> Remedy {
        Remedy::Index { table: "public.todos".into(), columns: vec!["owner".into()] }
    }

    fn advice() -> Remedy {
        Remedy::Advice { text: "log less".into() }
    }

    const STUDY: &str = r#"title = "todos"

[postgres.db]

[postgres.own]
address = "postgres://u:p@127.0.0.1:7/shop"

[service.main]
command = ["server", "{port}", "{postgres.db.url}", "{postgres.own.url}"]
reset = "stores"

[switches.batch]
default = "off"
env = "BATCH"
remedies = { many_statements = "on" }

[variants.stock]

[variants.batched]
switches = { batch = "on" }

[workloads.list]
path = "/"

[design]
kind = "ladder"
"#;

    fn study() -> Definition {
        Definition::read(STUDY, "study.toml", &|_| true).unwrap()
    }

    fn of_code(code: &'static str, confidence: Confidence) -> Finding {
        Finding { code, ..finding(advice(), "postgres://127.0.0.1:5000/knee", confidence) }
    }

    fn stores() -> Vec<Known> {
        let store = |name: &str, urls: &[&str]| Known {
            name: name.into(),
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        };
        let of_db =
            ["postgres://knee:secret@127.0.0.1:5000/knee", "postgres://knee:secret@127.0.0.1:5001/knee"];
        vec![store("postgres.db", &of_db), store("postgres.own", &["postgres://u:p@127.0.0.1:7/shop"])]
    }

    fn report(findings: Vec<Finding>) -> Report {
        Report { findings, ..Report::default() }
    }

    fn chosen(findings: Vec<Finding>) -> Option<Choice> {
        chosen_for("stock", findings)
    }

    fn chosen_for(variant: &str, findings: Vec<Finding>) -> Option<Choice> {
        let study = study();
        choose(&report(findings), &study, study.variant(variant).unwrap(), &stores())
    }

    #[test]
    fn the_first_finding_whose_remedy_knee_can_apply_is_tried_in_the_database_that_it_is_about() {
        let started = "postgres://127.0.0.1:5000/knee";
        let change = Change::Sql {
            server: "db".into(),
            statement: r#"CREATE INDEX ON "public"."todos" ("owner")"#.into(),
        };
        let findings = vec![
            finding(advice(), started, Confidence::Strong),
            finding(index(), started, Confidence::Likely),
        ];
        assert_eq!(chosen(findings), Some(Choice { finding: 1, change: change.clone() }));
        assert_eq!(words(&change), r#"CREATE INDEX ON "public"."todos" ("owner") in postgres.db"#);
    }

    #[test]
    fn hints_and_databases_that_knee_did_not_start_are_left_alone() {
        let started = "postgres://127.0.0.1:5000/knee";
        assert_eq!(chosen(vec![finding(index(), started, Confidence::Hint)]), None);
        for source in ["postgres://127.0.0.1:7/shop", "postgres://127.0.0.1:9/other"] {
            let one = finding(index(), source, Confidence::Strong);
            assert_eq!(chosen(vec![one.clone()]), None, "{source}");
            let why = why_not(&report(vec![one]), "a database that it did not start");
            assert_eq!(why, "knee does not write to a database that it did not start");
        }
        let why = |one| why_not(&report(vec![one]), "");
        assert_eq!(
            why(finding(advice(), started, Confidence::Strong)),
            "knee cannot apply this remedy by itself"
        );
        assert!(why(finding(index(), started, Confidence::Hint)).starts_with("a hint rests on one figure"));
    }

    #[test]
    fn an_index_that_a_replica_lacks_is_made_on_its_primary_which_knee_started_too() {
        let of_replica = finding(index(), "postgres://127.0.0.1:5001/knee", Confidence::Likely);
        let chosen = chosen(vec![of_replica]).unwrap();
        assert!(matches!(chosen.change, Change::Sql { server, .. } if server == "db"));
    }

    #[test]
    fn statistics_of_saved_data_are_there_already_so_that_analyze_is_no_remedy_and_the_reason_is_said() {
        let stale = || Finding {
            code: "stale_statistics",
            ..finding(
                Remedy::Analyze { table: "public.todos".into() },
                "postgres://127.0.0.1:5000/knee",
                Confidence::Likely,
            )
        };
        let of = |text: &str| {
            let study = Definition::read(text, "study.toml", &|_| true).unwrap();
            possible(&stale(), &study, study.variant("stock").unwrap(), &stores())
        };
        assert_eq!(of(STUDY), Err(ANALYZED.to_owned()));
        let seeded = STUDY.replace("reset = \"stores\"", "reset = \"seed\"\nseed = [\"seed\"]");
        assert!(matches!(of(&seeded), Ok(Change::Sql { statement, .. }) if statement.starts_with("ANALYZE")));
    }

    #[test]
    fn every_finding_has_its_change_or_a_reason_and_of_two_remedies_the_one_that_was_left_out_is_named() {
        let started = "postgres://127.0.0.1:5000/knee";
        let titles = Remedy::Index { table: "public.todos".into(), columns: vec!["title".into()] };
        let findings = vec![
            finding(advice(), started, Confidence::Strong),
            finding(index(), started, Confidence::Likely),
            finding(titles, started, Confidence::Likely),
            // Another statement that lacks the same index.
            finding(index(), started, Confidence::Likely),
        ];
        let (report, study) = (report(findings), study());
        let variant = study.variant("stock").unwrap();
        let possible = |finding: &Finding| possible(finding, &study, variant, &stores());
        let proof = not_tried("--no-proof", Vec::new());
        let considered = considered(&report, possible, Some(1), &proof);
        let why: Vec<&str> = considered.iter().map(|one| one.why_not.as_deref().unwrap()).collect();
        assert_eq!(why, ["knee cannot apply this remedy by itself", "--no-proof", ONE, "--no-proof"]);
        let can: Vec<bool> = considered.iter().map(|one| one.change.is_some()).collect();
        assert_eq!(can, [false, true, true, true]);
    }

    #[test]
    fn a_switch_that_the_study_calls_the_remedy_is_tried_for_a_firm_finding_first_and_then_for_a_hint() {
        let on = Change::Switch { name: "batch".into(), value: "on".into() };
        let likely = of_code("many_statements", Confidence::Likely);
        let hint = of_code("many_statements", Confidence::Hint);
        let started = finding(index(), "postgres://127.0.0.1:5000/knee", Confidence::Likely);
        let place = |variant: &str, findings| chosen_for(variant, findings).map(|choice| choice.finding);
        assert_eq!(chosen(vec![likely.clone()]), Some(Choice { finding: 0, change: on.clone() }));
        assert_eq!(place("stock", vec![hint.clone(), started]), Some(1), "a hint comes last");
        assert_eq!(place("stock", vec![hint]), Some(0));
        assert_eq!(place("batched", vec![likely.clone()]), None, "the variant has the switch already");
        assert_eq!(words(&on), "batch = on, a switch of the study");
        let lines = study_toml(&likely, "stock", Some(&on)).join("\n");
        assert!(
            lines.contains("[variants.\"stock + batch\"]") && lines.contains("\"batch\" = \"on\""),
            "{lines}"
        );
    }

    #[test]
    fn a_remedy_of_what_no_rule_finds_is_known_by_its_code() {
        assert_eq!(unknown_codes(&study()), [""; 0]);
        let text = STUDY.replace("many_statements", "many_statments");
        let wrong = Definition::read(&text, "study.toml", &|_| true).unwrap();
        assert_eq!(unknown_codes(&wrong), ["many_statments"]);
    }

    #[test]
    fn the_variant_to_prove_it_by_hand_is_toml_that_a_study_reads() {
        let one = finding(index(), "", Confidence::Strong);
        let change = Change::Sql { server: "db".into(), statement: "CREATE INDEX ON \"t\" (\"a\")".into() };
        let study = format!(
            "title = \"t\"\n[postgres.db]\n[service.main]\ncommand = [\"s\", \"{{port}}\", \"{{postgres.db.url}}\"]\n\
             reset = \"stores\"\n[variants.stock]\n[workloads.list]\npath = \"/\"\n{}\n",
            study_toml(&one, "stock", Some(&change)).join("\n")
        );
        let read = Definition::read(&study, "study.toml", &|_| true).unwrap();
        assert_eq!(read.variant("stock + index").unwrap().sql["db"], ["CREATE INDEX ON \"t\" (\"a\")"]);
        assert_eq!(read.design.pairs, [["stock".to_owned(), "stock + index".to_owned()]]);
        let advice = study_toml(&finding(advice(), "", Confidence::Strong), "stock", None).join("\n");
        assert!(advice.contains("# the remedy: log less\n"), "{advice}");
    }
}
