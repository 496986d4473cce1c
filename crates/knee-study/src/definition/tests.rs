//! What a `study.toml` can say, and how mistakes in one are reported.

use knee_core::unit::Nanos;
use proptest::prelude::*;

use super::*;

/// A study with a bit of everything; errors are made by changing a line of it.
const STUDY: &str = r#"title = "A tuning story"
question = "Was it the lock?"
source = "https://example.org/story"

[service.main]
command = ["target/release/board", "--port", "{port}"]
env = { LOG = "warn" }

[postgres.main]
settings = { shared_buffers = "64MB" }

[switches.tx_mode]
text = "how a transaction begins"
values = ["deferred", "immediate"]
default = "deferred"
env = "TX_MODE"

[switches.workers]
default = 4
argument = "--workers={value}"

[variants.stock]
text = "as it comes"

[variants.immediate]
extends = "stock"
switches = { tx_mode = "immediate" }

[variants.more]
extends = "immediate"
switches = { workers = 8 }
env = { LOG = "error" }

[workloads.list]
path = "/posts"
connections = 20

[workloads.create]
method = "POST"
path = "/posts"
body = "{}"
arrival_rate = 500
measure = "8s"

[workloads.sale]
script = "sale.js"
env = { USERS = "100" }
reset = false

[design]
kind = "ladder"
order = ["stock", "immediate", "more"]
blocks = 12
margin = "4%"
margins = { errors = "0.5%" }
metrics = ["goodput", "p95", "errors"]

[claims.C1]
text = "immediate ends the errors"
workload = "create"
metric = "errors"
variant = "immediate"
below = "0.1%"

[claims.C2]
text = "it doubles the rate"
workload = "create"
metric = "goodput"
variant = "immediate"
against = "stock"
expect = "faster"
at_least = "2x"

[claims.C3]
text = "the runtime did it"
untestable = "there is no other runtime here"

[[published]]
variant = "stock"
workload = "list"
figures = { goodput = "40.87/s", p95 = "196.3ms", errors = "2.6%" }
"#;

fn read(text: &str) -> Result<Definition, Problems> {
    Definition::read(text, "study.toml", &|path| path == "sale.js")
}

/// What is said when a line of the study is replaced.
fn said(line: &str, instead: &str) -> String {
    assert!(STUDY.contains(line), "{line}");
    match read(&STUDY.replacen(line, instead, 1)) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn a_study_is_read_with_every_name_resolved() {
    let study = read(STUDY).unwrap();
    let names: Vec<&str> = study.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["stock", "immediate", "more"], "the order of the file");
    let more = study.variant("more").unwrap();
    assert_eq!(more.switches["tx_mode"], "immediate", "from the variant below");
    assert_eq!(more.switches["workers"], "8");
    assert_eq!(study.variant("stock").unwrap().switches["workers"], "4", "the default");
    assert_eq!(study.design.blocks, 12);
    assert_eq!(study.design.margin, Some(0.04));
    assert_eq!(study.design.metrics, [Metric::Goodput, Metric::P95, Metric::Errors]);
    assert_eq!(study.workload("create").unwrap().measure, Some(Nanos::from_secs(8)));
    assert_eq!(study.published.len(), 3);
    assert!((study.published[1].value - 196_300_000.0).abs() < 1.0);
    assert_eq!(study.published[0].source, "https://example.org/story");
    let Test::Comparison { from, at_least, .. } = &study.claims[1].test else { panic!() };
    assert_eq!((from.variant.as_str(), *at_least), ("stock", Some(2.0)));
}

#[test]
fn a_claim_can_give_its_published_figure_and_say_whether_the_test_is_like_for_like() {
    let words =
        "at_least = \"2x\"\npublished = \"41/s to 84/s\"\nlike_for_like = \"no: two cores instead of ten\"";
    let study = read(&STUDY.replace("at_least = \"2x\"", words)).unwrap();
    let claim = &study.claims[1];
    assert_eq!(claim.published.as_deref(), Some("41/s to 84/s"));
    assert_eq!(claim.like_for_like.as_deref(), Some("no: two cores instead of ten"));
    assert_eq!((&study.claims[0].published, &study.claims[0].like_for_like), (&None, &None));
}

#[test]
fn every_mistake_is_named_with_its_line_and_column() {
    let table = [
        ("extends = \"stock\"", "extends = \"stok\"", "there is no variant `stok`, study.toml:26:11"),
        ("text = \"as it comes\"", "extends = \"more\"", "extends itself, study.toml:23:11"),
        (
            "tx_mode = \"immediate\" }",
            "tx_mod = \"immediate\" }",
            "there is no switch `tx_mod`, study.toml:27:14",
        ),
        (
            "tx_mode = \"immediate\" }",
            "tx_mode = \"imediate\" }",
            "`imediate` is not a value of switch `tx_mode`, study.toml:27:24",
        ),
        ("connections = 20", "conections = 20", "unknown key `conections`"),
        ("[variants.stock]", "[arms.stock]", "unknown key `arms`"),
        (
            "connections = 20",
            "connections = 0",
            "`connections = 0` is outside of 1 to 65535, study.toml:36:15",
        ),
        ("connections = 20", "connections = \"x\"", "study.toml:36:15"),
        (
            "arrival_rate = 500",
            "arrival_rate = -5.0",
            "`arrival_rate` must be above 0 requests/s, study.toml:42:16",
        ),
        ("measure = \"8s\"", "measure = \"8 parsecs\"", "is not a duration, study.toml:43:11"),
        ("script = \"sale.js\"", "script = \"gone.js\"", "there is no script `gone.js`, study.toml:46:10"),
        (
            "script = \"sale.js\"",
            "arrival_rate = 5.0",
            "workload `sale` needs either `path` or `script`, study.toml:45:12",
        ),
        ("path = \"/posts\"", "path = \"posts\"", "`posts` is not a path, study.toml:35:8"),
        ("kind = \"ladder\"", "kind = \"stairs\"", "unknown word `stairs`"),
        ("\"more\"]", "\"mare\"]", "there is no variant `mare`, study.toml:52:32"),
        ("blocks = 12", "blocks = 3", "`blocks = 3` is outside of 8 to 1000, study.toml:53:10"),
        (
            "margin = \"4%\"",
            "margin = 0",
            "`margin` must be a share above 0 and below 100 %, study.toml:54:10",
        ),
        ("\"p95\", \"errors\"]", "\"p96\", \"errors\"]", "there is no metric `p96`, study.toml:56:23"),
        ("below = \"0.1%\"", "below = \"fast\"", "`fast` is not a figure for errors"),
        ("below = \"0.1%\"", "", "claim `C1` needs one of `expect`, `change` and a bound, study.toml:58:9"),
        ("against = \"stock\"", "", "claim `C2` does not say what it is compared with, study.toml:65:9"),
        ("at_least = \"2x\"", "at_least = \"0.5x\"", "`0.5x` is not a factor above 1"),
        ("goodput = \"40.87/s\"", "rat = \"40.87/s\"", "there is no metric `rat`"),
        (
            "p95 = \"196.3ms\"",
            "p95 = 196.3",
            "`196.3` is not a figure for p95, which is written as \"12.5ms\"",
        ),
        ("env = \"TX_MODE\"", "", "switch `tx_mode` needs either `env` or `argument`, study.toml:12:11"),
        ("--workers={value}", "--workers", "the argument of a switch has no `{value}`"),
        ("title = \"A tuning story\"", "", "missing key `title`"),
        ("order = [", "best = \"more\"\norder = [", "`best` does nothing in this kind of design"),
        ("title = ", "title = = ", "study.toml:1:9"),
    ];
    let wrong: Vec<String> = table
        .into_iter()
        .map(|(line, instead, expected)| (instead, said(line, instead), expected))
        .filter(|(_, said, expected)| !said.contains(expected))
        .map(|(instead, said, expected)| format!("{instead}: said {said:?}, not {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let text = STUDY.replacen("blocks = 12", "blocks = 3", 1).replacen(
        "extends = \"stock\"",
        "extends = \"stok\"",
        1,
    );
    let Err(Problems(problems)) = read(&text) else { panic!() };
    assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [26, 53]);
    assert_eq!(problems[0].hint, "did you mean `stock`?");
}

#[test]
fn every_wrong_key_is_reported_with_its_line_and_what_follows_from_one_is_not() {
    let places = |text: &str| {
        let Err(Problems(problems)) = read(text) else { panic!("{text}") };
        problems.iter().map(|problem| (problem.line, problem.what.clone())).collect::<Vec<_>>()
    };
    let leaves =
        STUDY.replacen("connections = 20", "conections = 20", 1).replacen("blocks = 12", "bloks = 12", 1);
    let found = places(&leaves.replacen("extends = \"immediate\"", "extends = \"imediate\"", 1));
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [30, 36, 53], "{found:?}");
    assert!(
        found[1].1.starts_with("unknown key `conections`") && found[2].1.starts_with("unknown key `bloks`")
    );
    let two_kinds = places(&leaves.replacen("kind = \"ladder\"", "kind = \"stairs\"", 1));
    let lines: Vec<usize> = two_kinds.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [36, 51, 53], "{two_kinds:?}");
    let table = places(&STUDY.replacen("[variants.stock]", "[variant.stock]", 1));
    assert_eq!(table.len(), 1, "variants that build on it are not reported: {table:?}");
    let syntax = places("title = = 1\nquestion = = 2\n");
    let mut lines: Vec<usize> = syntax.iter().map(|(line, _)| *line).collect();
    lines.dedup();
    assert_eq!(lines, [1, 2], "{syntax:?}");
}

#[test]
fn a_placeholder_that_does_not_exist_is_reported_with_its_line_wherever_it_is() {
    let table = [
        ("\"{port}\"", "\"{porrt}\"", "`{porrt}`, study.toml:6:46"),
        ("LOG = \"warn\"", "LOG = \"{postgres.mian.url}\"", "`{postgres.mian.url}`, study.toml:7:15"),
        ("--workers={value}", "--workers={value} {prot}", "`{prot}`, study.toml:20:12"),
        ("LOG = \"error\"", "LOG = \"{dta}\"", "`{dta}`, study.toml:32:15"),
        ("USERS = \"100\"", "USERS = \"{port}\"", "`{port}`, study.toml:47:17"),
    ];
    for (line, instead, expected) in table {
        let said = said(line, instead);
        assert!(said.contains(expected), "{instead}: said {said:?}, not {expected:?}");
    }
    for instead in ["LOG = \"{{any}} ${HOME} {study} {postgres.main.url}\"", "LOG = \"{ \\\"a\\\": 1 }\""] {
        assert_eq!(said("LOG = \"warn\"", instead), "nothing", "{instead}");
    }
    let asked = said("USERS = \"100\"", "DURATION = \"{duration}\"");
    assert_eq!(asked, "nothing", "scripts can be asked to last");
    let of_service = said("LOG = \"warn\"", "LOG = \"{duration}\"");
    assert!(of_service.contains("`{duration}`, study.toml:7:"), "services outlive trials: {of_service}");
    let Err(Problems(problems)) = read(&STUDY.replacen("{port}", "{porrt}", 1)) else { panic!() };
    assert_eq!(problems[0].hint, "did you mean `port`?; `{{porrt}}` stands for the text `{porrt}`");
}

#[test]
fn each_kind_of_design_says_what_it_needs() {
    let design = |text: &str| {
        let start = STUDY.find("kind = ").unwrap();
        let end = STUDY.find("[claims.C1]").unwrap();
        read(&format!("{}{text}\n{}", &STUDY[..start], &STUDY[end..])).err().map(|found| found.to_string())
    };
    assert_eq!(design("kind = \"pairs\"\npairs = [[\"stock\", \"more\"]]"), None);
    assert_eq!(design("kind = \"ablation\"\nbaseline = \"stock\"\nbest = \"more\""), None);
    for (text, expected) in [
        ("kind = \"ablation\"", "an ablation needs `best`"),
        ("kind = \"ablation\"\nbaseline = \"more\"\nbest = \"more\"", "have the same switches"),
        ("kind = \"growth\"", "growth needs a table `growth`"),
        (
            "kind = \"growth\"\ngrowth = { switch = \"workers\", sizes = [1, 2, 3, 4] }",
            "eight times the first",
        ),
        ("kind = \"growth\"\ngrowth = { switch = \"workers\", sizes = [1, 8, 4, 16] }", "rising sizes"),
        ("kind = \"pairs\"\npairs = []", "there are no pairs"),
        ("kind = \"pairs\"\npairs = [[\"stock\"]]", "a pair has two variants"),
        ("kind = \"pairs\"\npairs = [[\"stock\", \"stock\"]]", "a pair has two different variants"),
        ("kind = \"ladder\"\norder = [\"stock\"]", "a comparison needs two variants"),
        ("kind = \"ladder\"\norder = [\"stock\", \"stock\"]", "variant `stock` is listed twice"),
    ] {
        let said = design(text).unwrap_or_default();
        assert!(said.contains(expected), "{text}: {said:?}");
    }
}

#[test]
fn one_variant_is_enough_where_a_claim_compares_its_workloads() {
    let start = STUDY.find("kind = ").unwrap();
    let claim = "[claims.C1]\ntext = \"as fast\"\nvariant = \"stock\"\nworkload = \"list\"\nmetric = \"p50\"\nexpect = \"same\"\n";
    let alone = |more: &str| {
        read(&format!("{}kind = \"ladder\"\norder = [\"stock\"]\n{claim}{more}", &STUDY[..start]))
    };
    assert_eq!(alone("against_workload = \"create\"\n").unwrap().design.order, ["stock"]);
    let said = alone("against = \"immediate\"\n").unwrap_err().to_string();
    assert!(said.contains("a comparison needs two variants"), "{said}");
}

#[test]
fn one_variant_is_enough_where_it_is_started_and_nothing_is_compared() {
    let start = STUDY.find("kind = ").unwrap();
    let alone = format!("{}kind = \"ladder\"\norder = [\"stock\"]\n", &STUDY[..start]);
    assert_eq!(Definition::read_to_start(&alone, "study.toml", &|_| true).unwrap().design.order, ["stock"]);
    let wrong = alone.replace("[\"stock\"]", "[\"stok\"]");
    let said = Definition::read_to_start(&wrong, "study.toml", &|_| true).unwrap_err().to_string();
    assert!(said.contains("there is no variant `stok`"), "{said}");
}

#[test]
fn where_data_grows_claims_name_a_variant_at_a_size() {
    let growth = "kind = \"growth\"\ngrowth = { switch = \"workers\", sizes = [1, 2, 4, 8] }\n";
    let claim = |variant: &str| {
        let start = STUDY.find("kind = ").unwrap();
        let claim = "[claims.C1]\ntext = \"quick\"\nworkload = \"list\"\nmetric = \"p50\"\nbelow = \"5ms\"\n";
        read(&format!("{}{growth}{claim}variant = \"{variant}\"\n", &STUDY[..start]))
            .err()
            .map(|found| found.to_string())
    };
    assert_eq!(claim("stock at 8"), None);
    let result = claim("stock").unwrap();
    assert!(result.starts_with("there is no variant `stock`"), "{result}");
}

#[test]
fn a_definition_can_be_stored() {
    let study = read(STUDY).unwrap();
    let text = toml::to_string(&study).unwrap();
    assert_eq!(toml::from_str::<Definition>(&text).unwrap(), study);
}

/// The study with a claim about an endpoint of its script.
fn with_endpoint(lines: &str) -> Result<Definition, Problems> {
    let claim = "[claims.C4]\ntext = \"it depends\"\nworkload = \"sale\"\nvariant = \"more\"\n";
    read(&STUDY.replacen("[[published]]", &format!("{claim}{lines}\n[[published]]"), 1))
}

#[test]
fn a_claim_about_an_endpoint_means_the_same_endpoint_on_both_sides_or_names_another() {
    let test = |lines: &str| {
        let study = with_endpoint(lines).unwrap_or_else(|problems| panic!("{problems}"));
        study.claims.last().unwrap().test.clone()
    };
    let sides = |lines: &str| {
        let test =
            test(&format!("metric = \"p95\"\nexpect = \"faster\"\nendpoint = \"POST /orders\"\n{lines}"));
        let (from, to, _) = test.compared().unwrap();
        [from, to].map(|cell| (cell.variant.clone(), cell.endpoint.clone().unwrap()))
    };
    let of = |variant: &str, endpoint: &str| (variant.to_owned(), endpoint.to_owned());
    let same = sides("against = \"stock\"");
    assert_eq!(same, [of("stock", "POST /orders"), of("more", "POST /orders")]);
    let other = sides("against_endpoint = \"GET /items\"");
    assert_eq!(other, [of("more", "GET /items"), of("more", "POST /orders")]);
    let bound = test("metric = \"response_size\"\nbelow = 2000\nendpoint = \"GET /items\"\ngoal = true");
    assert_eq!(bound.cells()[0].endpoint.as_deref(), Some("GET /items"));
}

#[test]
fn a_claim_about_an_endpoint_says_what_is_measured_of_one() {
    for (lines, what, hint) in [
        (
            "metric = \"memory\"\nbelow = 9\nendpoint = \"GET /items\"",
            "knee measures memory of all requests together, not of an endpoint, study.toml:84:12",
            "metrics of an endpoint: goodput, throughput, mean, p50, p90, p95, p99, p99.9, max, errors, response_size",
        ),
        (
            "metric = \"p50\"\nbelow = \"9ms\"\nendpoint = \"GET http://localhost/items\"",
            "`GET http://localhost/items` has a host, study.toml:84:12",
            "write the method and the path, as in \"GET /todos\"",
        ),
        (
            "metric = \"p50\"\nbelow = \"9ms\"\nendpoint = \" \"",
            "the name of an endpoint is missing, study.toml:84:12",
            "as in \"GET /todos\"",
        ),
        (
            "metric = \"p50\"\nbelow = \"9ms\"\nagainst_endpoint = \"GET /items\"",
            "`against_endpoint` belongs to `endpoint`, study.toml:84:20",
            "",
        ),
    ] {
        let Err(Problems(problems)) = with_endpoint(lines) else { panic!("{lines}") };
        assert_eq!((problems[0].to_string().as_str(), problems[0].hint.as_str()), (what, hint));
    }
    let one = said("metric = \"errors\"\n", "metric = \"errors\"\nendpoint = \"POST /posts\"\n");
    assert!(one.starts_with("workload `create` has one endpoint"), "{one}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn no_damage_to_a_study_makes_it_panic(from in 0usize..1_900, length in 0usize..40, instead in "[\\[\\]\"=a-z0-9.\n{}]{0,8}") {
        let mut text = STUDY.to_owned();
        let (from, to) = (from.min(text.len()), (from + length).min(text.len()));
        text.replace_range(from..to, &instead);
        match read(&text) {
            Ok(_) => {}
            Err(Problems(problems)) => {
                prop_assert!(!problems.is_empty());
                let lines = text.lines().count() + 1;
                prop_assert!(problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{problems:?}");
            }
        }
    }
}

/// A study whose lines below `[service.main]` are `service`, with one variant that changes `variant`.
fn with_service(service: &str, variant: &str, rest: &str) -> Result<Definition, Problems> {
    read(&format!(
        "title = \"own\"\n[service.main]\n{service}\n{rest}\n[variants.one]\n[variants.two]\n{variant}\n\
         [workloads.list]\npath = \"/\"\n[design]\nkind = \"ladder\"\n"
    ))
}

#[test]
fn a_service_that_the_user_runs_takes_no_switches_and_the_hint_says_what_to_do() {
    let own = "address = \"http://127.0.0.1:1\"";
    let switch = "[switches.cache]\ndefault = \"off\"\nenv = \"CACHE\"";
    for (variant, rest, what) in [
        ("", switch, "switch `cache` cannot change service `main`: with `address` you run it, not knee"),
        ("env = { CACHE = \"on\" }", "", "variant `two` cannot change service `main`"),
        ("command = [\"other\"]", "", "variant `two` cannot change service `main`"),
        ("revision = \"v1\"", "", "variant `two` cannot change service `main`"),
    ] {
        let Err(Problems(problems)) = with_service(own, variant, rest) else { panic!("{what}") };
        assert!(problems[0].what.starts_with(what), "{problems:?}");
        assert!(problems[0].hint.contains("knee compare URL_A URL_B"), "{problems:?}");
    }
    assert!(with_service("command = [\"server\", \"{port}\"]", "env = { CACHE = \"on\" }", switch).is_ok());
}

#[test]
fn work_of_databases_is_measured_or_refused() {
    let metrics = "metrics = [\"goodput\", \"blocks_per_request\", \"wal_per_request\"]\n";
    let of = |store: &str| {
        let text = format!(
            "title = \"work\"\n[service.main]\ncommand = [\"server\", \"{{port}}\"]\n{store}\n[variants.one]\n\
             [variants.two]\n[workloads.list]\npath = \"/\"\n[design]\nkind = \"ladder\"\n{metrics}"
        );
        read(&text).map_err(|problems| problems.to_string())
    };
    assert!(of("[postgres.db]\n").is_ok());
    for store in ["", "[postgres.db]\naddress = \"postgres://127.0.0.1/db\"\n"] {
        let refused = of(store).unwrap_err();
        assert!(refused.contains("`wal_per_request` is measured only of a PostgreSQL server"), "{refused}");
    }
}

#[test]
fn growth_through_a_seed_that_runs_once_is_refused() {
    let of = |service: &str| {
        let text = format!(
            "title = \"rows\"\n[service.main]\ncommand = [\"server\", \"{{port}}\"]\nseed = [\"fill\"]\n{service}\n\
             [switches.rows]\ndefault = 1\nenv = \"ROWS\"\n[variants.one]\n[workloads.list]\npath = \"/\"\n[design]\n\
             kind = \"growth\"\ngrowth = {{ switch = \"rows\", sizes = [1, 2, 4, 8] }}\n"
        );
        read(&text).map(drop).map_err(|problems| problems.to_string())
    };
    let refused = of("").unwrap_err();
    assert!(refused.contains("the seed of `main` gets `rows`, but runs only once"), "{refused}");
    for service in ["reset = \"copy\"", "reset = \"seed\"", "seed_env = []"] {
        assert_eq!(of(service), Ok(()), "{service}");
    }
}

/// The study with data that a reset brings back, and a variant of it.
fn with_data(variant: &str) -> Result<Definition, Problems> {
    let service = "env = { LOG = \"warn\" }";
    let variants = "[workloads.list]";
    let study = STUDY.replacen(service, &format!("{service}\nreset = \"stores\""), 1);
    read(&study.replacen(variants, &format!("{variant}\n{variants}"), 1))
}

#[test]
fn a_variant_adds_statements_and_settings_of_postgresql_to_those_of_the_variant_below() {
    let study = with_data(
        "[variants.index]\nextends = \"stock\"\nsql = { main = [\"CREATE INDEX ON posts (owner)\"] }\n\
         settings = { main = { jit = false, work_mem = \"8MB\" } }\n\
         [variants.both]\nextends = \"index\"\nsql = { main = [\"ANALYZE posts\"] }\n\
         settings = { main = { work_mem = \"64MB\" } }\n",
    )
    .unwrap();
    let both = study.variant("both").unwrap();
    assert_eq!(both.sql["main"], ["CREATE INDEX ON posts (owner)", "ANALYZE posts"]);
    let settings = &both.settings["main"];
    assert_eq!((settings["jit"].as_str(), settings["work_mem"].as_str()), ("off", "64MB"));
    assert_eq!(study.variant("index").unwrap().settings["main"]["work_mem"], "8MB");
    let stored = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<Definition>(&stored).unwrap(), study);
    let stock = serde_json::to_value(study.variant("stock").unwrap()).unwrap();
    assert!(stock.get("sql").is_none() && stock.get("settings").is_none(), "{stock}");
}

#[test]
fn statements_that_no_reset_takes_back_and_servers_that_are_not_started_are_refused() {
    let sql = "[variants.index]\nsql = { main = [\"CREATE INDEX ON posts (owner)\"] }\n";
    let kept = said("[workloads.list]", &format!("{sql}[workloads.list]"));
    assert!(kept.contains("no reset of service `main` takes it back, study.toml:"), "{kept}");
    let said =
        |variant: &str| with_data(variant).map_or_else(|problems| problems.to_string(), |_| String::new());
    assert_eq!(said(sql), "");
    let unknown = said("[variants.index]\nsql = { man = [\"ANALYZE\"] }\n");
    assert!(unknown.contains("there is no PostgreSQL server `man`, study.toml:"), "{unknown}");
    let unknown = said("[variants.index]\nsettings = { man = { jit = false } }\n");
    assert!(unknown.contains("there is no PostgreSQL server `man`, study.toml:"), "{unknown}");
    let empty = said("[variants.index]\nsql = { main = [\" \"] }\n");
    assert!(empty.contains("a statement for `main` is empty"), "{empty}");
    let own = with_data("[variants.index]\nsettings = { main = { jit = false } }\n");
    assert!(own.is_ok());
    let own = STUDY
        .replacen("settings = { shared_buffers = \"64MB\" }", "address = \"postgres://u@db/x\"", 1)
        .replacen(
            "[workloads.list]",
            "[variants.i]\nsettings = { main = { jit = false } }\n[workloads.list]",
            1,
        );
    let own = read(&own).unwrap_err().to_string();
    assert!(own.contains("a variant cannot change `postgres.main`: you run it, not knee"), "{own}");
}

#[test]
fn a_claim_about_iterations_needs_a_script() {
    let claim = |workload: &str| {
        let lines =
            "metric = \"iteration_time\"\nvariant = \"more\"\nagainst = \"stock\"\nexpect = \"faster\"";
        let claim = format!("[claims.C4]\ntext = \"a turn\"\nworkload = \"{workload}\"\n{lines}\n");
        read(&STUDY.replacen("[[published]]", &format!("{claim}\n[[published]]"), 1))
    };
    assert!(claim("sale").is_ok());
    let refused = claim("list").unwrap_err().to_string();
    assert!(refused.starts_with("workload `list` is no script: it has no iteration_time"), "{refused}");
}

#[test]
fn metrics_of_events_need_a_workload_that_has_events() {
    let lines = "metric = \"first_event\"\nvariant = \"more\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let claim = |workload: &str| {
        let claim = format!("[claims.C4]\ntext = \"a turn\"\nworkload = \"{workload}\"\n{lines}\n");
        read(&STUDY.replacen("[[published]]", &format!("{claim}\n[[published]]"), 1))
    };
    assert!(claim("sale").is_ok(), "a script can read streams");
    let refused = claim("list").unwrap_err().to_string();
    assert!(refused.starts_with("workload `list` has no events: it has no first_event"), "{refused}");
}

#[test]
fn a_claim_about_the_slowest_request_has_one_bound_and_no_size() {
    let said = |lines: &str| {
        let of = "workload = \"list\"\nvariant = \"more\"\nmetric = \"max\"";
        let claim = format!("[claims.C4]\ntext = \"it is slow\"\n{of}\n{lines}\n");
        let study = read(&STUDY.replacen("[[published]]", &format!("{claim}\n[[published]]"), 1));
        study.map_or_else(|Problems(problems)| problems[0].what.clone(), |_| String::new())
    };
    let size = "the slowest request of a trial has no change whose size can be tested";
    assert_eq!(said("against = \"stock\"\nchange = \"0.5x\""), size);
    assert_eq!(said("against = \"stock\"\nexpect = \"faster\"\nat_least = \"2x\""), size);
    let both = said("below = \"1s\"\nabove = \"1ms\"\ngoal = true");
    assert_eq!(both, "a claim about the slowest request has one bound");
    for one in ["below = \"1s\"", "above = \"1s\"", "against = \"stock\"\nexpect = \"faster\""] {
        assert_eq!(said(one), "", "{one}");
    }
}

/// The study with a statement and a claim about it.
fn with_statement(table: &str, lines: &str) -> Result<Definition, Problems> {
    let statement = format!("[statements.list]\n{table}\n\n[variants.stock]");
    let claim = "[claims.C4]\ntext = \"it depends\"\nworkload = \"sale\"\nvariant = \"more\"\n";
    let text = STUDY.replacen("[variants.stock]", &statement, 1);
    read(&text.replacen("[[published]]", &format!("{claim}{lines}\n[[published]]"), 1))
}

#[test]
fn a_claim_about_a_statement_means_the_same_statement_on_both_sides() {
    let like = "text = \"the list\"\nlike = \"select % from posts %\"";
    let lines = "metric = \"statement_time\"\nstatement = \"list\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let study = with_statement(like, lines).unwrap_or_else(|problems| panic!("{problems}"));
    let expected =
        Statement { text: "the list".into(), postgres: "main".into(), like: "select % from posts %".into() };
    assert_eq!(study.statements["list"], expected, "of the only server");
    let (from, to, metric) = study.claims.last().unwrap().test.compared().unwrap();
    assert_eq!(metric, Metric::StatementTime);
    assert_eq!((from.variant.as_str(), to.variant.as_str()), ("stock", "more"));
    assert_eq!([&from.statement, &to.statement], [&Some("list".to_owned()); 2]);
    let text = toml::to_string(&study).unwrap();
    assert_eq!(toml::from_str::<Definition>(&text).unwrap(), study, "it can be stored");
}

#[test]
fn a_statement_and_a_claim_about_one_say_what_they_lack() {
    let like = "like = \"select %\"";
    let bound = "below = \"9ms\"\ngoal = true";
    let time = format!("metric = \"statement_time\"\n{bound}");
    for (table, lines, what) in [
        (like, format!("{time}\nstatement = \"lost\""), "there is no statement `lost`"),
        (like, time.clone(), "claim `C4` does not say of which statement statement_time is"),
        (
            like,
            format!("metric = \"p95\"\n{bound}\nstatement = \"list\""),
            "knee does not measure p95 of a statement",
        ),
        (
            like,
            format!("{time}\nstatement = \"list\"\nendpoint = \"GET /posts\""),
            "knee measures statement_time of all requests together, not of an endpoint",
        ),
        (
            like,
            format!("metric = \"p95\"\n{bound}\nagainst_statement = \"list\""),
            "`against_statement` belongs to `statement`",
        ),
        ("like = \" \"", format!("{time}\nstatement = \"list\""), "the pattern of a statement is empty"),
        (
            "like = \"%\"\npostgres = \"other\"",
            format!("{time}\nstatement = \"list\""),
            "there is no PostgreSQL server that knee starts with the name `other`",
        ),
    ] {
        let Err(Problems(problems)) = with_statement(table, &lines) else { panic!("{what}") };
        assert_eq!(problems[0].what, what, "{problems:?}");
    }
    let metrics = said("\"goodput\", \"p95\", \"errors\"", "\"statement_time\"");
    assert!(
        metrics.contains("knee measures statement_time of one statement, not of a whole trial"),
        "{metrics}"
    );
    let without =
        said("[postgres.main]\nsettings = { shared_buffers = \"64MB\" }", "[statements.a]\nlike = \"%\"");
    let what = "statements are counted only by a PostgreSQL server that knee starts";
    assert!(without.starts_with(what), "{without}");
    let two =
        said("[switches.tx_mode]", "[postgres.second]\n[statements.a]\nlike = \"%\"\n[switches.tx_mode]");
    assert!(two.starts_with("statement `a` does not say of which server it is"), "{two}");
}

#[test]
fn a_remedy_of_a_switch_is_one_of_its_values() {
    let text = |value: &str| {
        format!(
            "title = \"t\"\n[service.main]\ncommand = [\"s\", \"{{port}}\"]\n[switches.mode]\ndefault = \"a\"\n\
             values = [\"a\", \"b\"]\nenv = \"MODE\"\nremedies = {{ one_thread = \"{value}\" }}\n[variants.stock]\n\
             [variants.b]\nswitches = {{ mode = \"b\" }}\n[workloads.list]\npath = \"/\"\n[design]\nkind = \"ladder\"\n"
        )
    };
    let read = |value: &str| Definition::read(&text(value), "study.toml", &|_| true);
    assert_eq!(read("b").unwrap().switches["mode"].remedies["one_thread"], "b");
    let problem = read("c").unwrap_err().to_string();
    assert!(problem.contains("`c` is not a value of switch `mode`"), "{problem}");
}
