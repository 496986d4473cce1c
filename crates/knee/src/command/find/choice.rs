//! Which remedy is tried, and where; and how a remedy that is not tried can be proven by hand.
//!
//! Only what knee started is changed. Does not change anything itself.

use knee_core::fixture::Declaration;
use knee_findings::{Change as Wanted, Finding, Report};
use knee_observe::Target;
use knee_report::find::Proof;
use knee_study::proof::Change;

/// A store that is up, as the fixture names it, and its address.
pub struct Known {
    /// `postgres.NAME`.
    pub name: String,
    /// With its password.
    pub url: String,
}

/// A finding with the change that its remedy makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its place among the findings.
    pub finding: usize,
    /// The change.
    pub change: Change,
}

/// The first finding whose remedy knee can apply to what it started. Hints are not tried: they can be wrong.
pub fn choose(report: &Report, declared: &Declaration, service: &str, stores: &[Known]) -> Option<Choice> {
    let mut firm = report.findings.iter().enumerate().filter(|(_, finding)| !finding.is_hint());
    firm.find_map(|(place, finding)| {
        Some(Choice { finding: place, change: change(finding, declared, service, stores)? })
    })
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
    let is_it = |store: &&Known| Target::parse(&store.url).is_ok_and(|target| target.name() == source);
    let name = stores.iter().find(is_it)?.name.strip_prefix("postgres.")?;
    declared.postgres.get(name).is_some_and(|server| server.address.is_none()).then(|| name.to_owned())
}

/// What a change does, in one line.
pub fn words(change: &Change) -> String {
    match change {
        Change::Sql { server, statement } => format!("{statement} in postgres.{server}"),
        Change::Setting { server, name, value } => format!("{name} = {value} in postgres.{server}"),
        Change::Environment { name, value } => format!("{name}={value} for the service"),
    }
}

/// Why no remedy of these findings is tried. `where_from` says what knee does not write to.
pub fn why_not(report: &Report, where_from: &str) -> String {
    let Some(first) = report.findings.first() else { return String::new() };
    match first.remedy.change() {
        _ if first.is_hint() => "a hint rests on one figure, so knee does not try its remedy".to_owned(),
        Some(Wanted::Statement(_) | Wanted::Setting { .. }) => {
            format!("knee does not write to {where_from}")
        }
        Some(Wanted::Environment { .. }) => format!("knee does not change {where_from}"),
        None => "knee cannot apply this remedy by itself".to_owned(),
    }
}

/// The variant with the remedy of the first finding, for the user's own `study.toml`.
pub fn study_toml(finding: &Finding, variant: &str, change: Option<&Change>) -> Vec<String> {
    let name = format!("{variant} + {}", finding.remedy.name());
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

    fn declared() -> Declaration {
        let mut declared = Declaration::default();
        declared.postgres.insert("db".into(), knee_core::fixture::Postgres::default());
        let own = knee_core::fixture::Postgres {
            address: Some("postgres://u:p@127.0.0.1:7/shop".into()),
            ..Default::default()
        };
        declared.postgres.insert("own".into(), own);
        declared
    }

    fn stores() -> Vec<Known> {
        let store = |name: &str, url: &str| Known { name: name.into(), url: url.into() };
        vec![
            store("postgres.db", "postgres://knee:secret@127.0.0.1:5000/knee"),
            store("postgres.own", "postgres://u:p@127.0.0.1:7/shop"),
        ]
    }

    fn report(findings: Vec<Finding>) -> Report {
        Report { findings, ..Report::default() }
    }

    fn chosen(findings: Vec<Finding>) -> Option<Choice> {
        choose(&report(findings), &declared(), "main", &stores())
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
    fn the_variant_to_prove_it_by_hand_is_toml_that_a_study_reads() {
        let one = finding(index(), "", Confidence::Strong);
        let change = Change::Sql { server: "db".into(), statement: "CREATE INDEX ON \"t\" (\"a\")".into() };
        let study = format!(
            "title = \"t\"\n[postgres.db]\n[service.main]\ncommand = [\"s\", \"{{port}}\", \"{{postgres.db.url}}\"]\n\
             reset = \"stores\"\n[variants.stock]\n[workloads.list]\npath = \"/\"\n{}\n",
            study_toml(&one, "stock", Some(&change)).join("\n")
        );
        let read = knee_study::definition::Definition::read(&study, "study.toml", &|_| true).unwrap();
        assert_eq!(read.variant("stock + index").unwrap().sql["db"], ["CREATE INDEX ON \"t\" (\"a\")"]);
        assert_eq!(read.design.pairs, [["stock".to_owned(), "stock + index".to_owned()]]);
        let advice = study_toml(&finding(advice(), "", Confidence::Strong), "stock", None).join("\n");
        assert!(advice.contains("# the remedy: log less\n"), "{advice}");
    }
}
