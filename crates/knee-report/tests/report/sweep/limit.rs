//! What a sweep says of the limit: the programs that fill the CPUs, and the resources that were observed.

use knee_core::fixture::division::{Division, Shared};
use knee_report::SweepView;
use knee_report::sweep::{About, json, text};
use knee_report::text::Style;
use knee_study::sweep::bound::{ProgramUse, Role};
use knee_study::sweep::conclusion::Facts;
use knee_study::sweep::resource::ResourceUse;
use knee_study::sweep::{Config, Ladder, LoadKind, Purpose, StepResult, Sweep, rule};
use serde_json::Value;

use super::{LIMIT, SCHEMA, about, config, healthy, measured};

fn program(name: &str, role: Role, cpus: f64, busiest_thread: f64) -> ProgramUse {
    ProgramUse { name: name.to_owned(), role, processes: 1, cpus, busiest_thread }
}

/// A sweep of a service that used a fifth of its CPUs, where these programs ran; its text and its JSON.
fn with_cpus(host_busy: Option<f64>, shared_cpus: usize, programs: &[ProgramUse]) -> (String, Value) {
    let mut sweep = Sweep::new(config(&[]));
    let mut steps = 0;
    while let Some(step) = sweep.next() {
        let result = measured(&step, f64::INFINITY);
        let cpu = result.cpu.map(|cpu| cpu / 4.0);
        // Nothing is busy during the first step, which has the smallest load.
        let programs = if steps == 0 { Vec::new() } else { programs.to_vec() };
        steps += 1;
        sweep.record_result(StepResult { host_busy, cpu, programs, ..result });
    }
    let facts = Facts { cores: Some(2.0), shared_cpus: Some(shared_cpus), assumptions: None };
    let (report, about) = (sweep.conclude(facts), about());
    let view = SweepView::of(&report, &about);
    let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
    (text::render(&view, &Style { width: 400, ..Style::default() }), document["cpu"].clone())
}

#[test]
fn only_idle_cpus_of_its_own_point_to_a_lock() {
    let (text, cpu) = with_cpus(Some(0.6), 0, &[]);
    assert!(text.contains("not CPU-bound: check locks") && cpu["finding"] == "elsewhere", "{text}");
    let (text, cpu) = with_cpus(Some(0.6), 2, &[]);
    assert!(text.contains("the load generator shares its CPUs, which were 60.0 % busy"), "{text}");
    assert!(!text.contains("locks") && cpu["finding"] == "shared", "{text}");
    let (text, cpu) = with_cpus(Some(0.975), 2, &[]);
    assert!(text.contains("no conclusion") && text.contains("its CPUs 97.5 % busy"), "{text}");
    assert!(!text.contains("locks") && cpu["finding"] == "all_busy", "{text}");
    let (text, cpu) = with_cpus(None, 0, &[]);
    assert!(text.contains("no conclusion") && cpu["finding"] == "unknown", "{text}");
}

#[test]
fn a_sweep_whose_service_shares_its_cpus_says_so_and_how_each_gets_its_own() {
    let facts = |shared_cpus| Facts { shared_cpus, ..Facts::default() };
    let with = |cpus: &[usize]| About { shared_cpus: cpus.to_vec(), ..about() };
    let said = |shared_cpus| text::sharing(facts(shared_cpus), &with(&[0, 1]));
    let four = text::sharing(facts(Some(4)), &with(&[0, 1, 2, 3])).unwrap();
    assert!(four.starts_with("service and load generator share 4 CPUs."), "{four}");
    assert!(
        four.contains("`taskset -c 0 knee sweep ...`") && four.contains("`taskset -c 1-3 ...`"),
        "{four}"
    );
    assert!(said(Some(2)).unwrap().contains("`taskset -c 1 ...`"));
    assert!(said(Some(1)).unwrap().ends_with("on a CPU of its own"));
    assert_eq!([said(Some(0)), said(None)], [None, None]);
    let elsewhere = About { co_located: Some(false), ..about() };
    assert_eq!(text::sharing(facts(Some(4)), &elsewhere), None);

    for (shared, is_noted) in [(2, true), (0, false)] {
        let (text, _) = with_cpus(Some(0.6), shared, &[]);
        assert_eq!(text.contains("share this machine's CPUs [co_located]"), is_noted, "{text}");
    }
}

#[test]
fn the_cpus_of_the_advice_are_those_that_the_programs_can_use() {
    let facts = |count| Facts { shared_cpus: Some(count), ..Facts::default() };
    let said = |cpus: &[usize]| {
        text::sharing(facts(cpus.len()), &About { shared_cpus: cpus.to_vec(), ..about() }).unwrap()
    };
    let two = said(&[4, 5]);
    assert!(two.contains("`taskset -c 4 knee sweep ...`") && two.ends_with("`taskset -c 5 ...`"), "{two}");
    assert!(said(&[2, 3, 4, 6]).ends_with("`taskset -c 3-4,6 ...`"));
    let unknown = text::sharing(facts(2), &About { shared_cpus: Vec::new(), ..about() }).unwrap();
    assert!(unknown.ends_with("share 2 CPUs. Give each its own with `taskset`"), "{unknown}");
}

#[test]
fn a_sweep_that_started_the_service_says_which_cpus_each_has_and_advises_no_taskset() {
    let with = |shared| {
        let division = Some(Division { generator: "0-1".to_owned(), others: "0-1".to_owned(), shared });
        About { division, ..about() }
    };
    let facts = Facts { shared_cpus: Some(2), ..Facts::default() };
    let asked = text::sharing(facts, &with(Some(Shared::Asked))).unwrap();
    assert!(asked.contains("leave out `--share-cpus`") && !asked.contains("taskset"), "{asked}");
    let declared = text::sharing(facts, &with(Some(Shared::Declared))).unwrap();
    assert!(declared.ends_with("change `cpus` in study.toml"), "{declared}");

    let report = healthy();
    let started = with(Some(Shared::Asked));
    let document: Value = serde_json::from_str(&json::render(&SweepView::of(&report, &started))).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    assert!(validator.is_valid(&document), "{:?}", validator.iter_errors(&document).collect::<Vec<_>>());
    assert_eq!(document["cpus"]["shared"], "asked");
    let by_hand = about();
    let document: Value = serde_json::from_str(&json::render(&SweepView::of(&report, &by_hand))).unwrap();
    assert!(document["cpus"].is_null());
}

#[test]
fn the_program_and_the_thread_that_fill_the_cpus_are_named() {
    let database = program("postgres", Role::Other, 1.21, 0.4);
    let service = program("uvicorn", Role::Service, 0.41, 0.4);
    let (text, cpu) = with_cpus(Some(0.975), 2, &[database, service]);
    assert!(text.contains("CPUs used near saturation: `postgres` 1.21, `uvicorn` (service) 0.41."), "{text}");
    assert_eq!(cpu["programs"][0]["name"], "postgres");
    let full = program("uvicorn", Role::Service, 0.99, 0.98);
    let (text, cpu) = with_cpus(Some(0.7), 2, std::slice::from_ref(&full));
    assert!(text.contains("one thread of `uvicorn` fills a CPU"), "{text}");
    assert_eq!(
        (&cpu["finding"], &cpu["full_thread_of"]),
        (&Value::from("one_thread"), &Value::from("uvicorn"))
    );
    let stranger = ProgramUse { role: Role::Other, ..full };
    let (text, cpu) = with_cpus(Some(0.7), 0, &[stranger]);
    assert!(text.contains("if the service waits for it, it is the limit"), "{text}");
    assert_eq!(cpu["full_thread_of"], Value::Null, "it can be of another service");
}

#[test]
fn a_sweep_that_a_late_generator_ended_says_what_fills_the_cpus_and_what_to_do() {
    let mut sweep = Sweep::new(config(&["p90<100ms"]));
    while let Some(step) = sweep.next() {
        let result = measured(&step, 2_000.0);
        let programs =
            vec![program("postgres", Role::Other, 1.5, 0.5), program("knee", Role::Generator, 0.4, 0.2)];
        sweep.record_result(StepResult {
            programs,
            host_busy: Some(0.97),
            generator_delay: Some(2e-3),
            ..result
        });
    }
    let ladder = sweep.trials().iter().filter(|trial| trial.step.purpose != Purpose::Probe);
    let void = ladder.filter(|trial| trial.judged.outcome == rule::Outcome::Void).count();
    assert!(void <= 4, "{void} void steps");
    let report = sweep.conclude(Facts { shared_cpus: Some(2), ..Facts::default() });
    let about = about();
    let text = text::render(&SweepView::of(&report, &about), &Style { width: 400, ..Style::default() });
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("Capacity unknown: the load generator might be the limit;"), "{first}");
    assert!(first.ends_with("The CPUs are full: `postgres` uses 1.50 CPUs."), "{first}");
    let last = text.split("\nNext\n").nth(1).unwrap();
    assert!(last.contains("Failures with response times below 20.0 ms cannot be judged"), "{last}");
    assert!(last.contains("share 2 CPUs. Give each its own: `taskset -c 0 knee sweep ...`"), "{last}");
    assert!(last.contains("`taskset -c 1 ...`"), "{last}");
}

/// A sweep beside which two resources were observed, of which the first is full at `full` requests/s.
fn with_resources(full: f64) -> (String, Value) {
    observed(|goodput| {
        let of = |resource: &str, servers: f64, limit_per_s: f64| ResourceUse {
            resource: resource.to_owned(),
            servers,
            demand_s: servers / limit_per_s,
            limit_per_s,
            reached: goodput / limit_per_s,
        };
        vec![of("main thread of redis://cache\u{1b}[2J", 1.0, full), of("CPUs of host", 4.0, 40_000.0)]
    })
}

/// A sweep beside which these resources were observed at a goodput, as text and as JSON.
fn observed(resources: impl Fn(f64) -> Vec<ResourceUse>) -> (String, Value) {
    let mut sweep = Sweep::new(config(&[]));
    while let Some(step) = sweep.next() {
        let result = measured(&step, f64::INFINITY);
        let resources = resources(result.goodput);
        sweep.record_result(StepResult { resources, ..result });
    }
    let (report, about) = (sweep.conclude(Facts::default()), about());
    let view = SweepView::of(&report, &about);
    let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    (text::render(&view, &Style { width: 1_000, ..Style::default() }), document)
}

#[test]
fn an_observed_resource_that_is_full_at_the_saturation_is_the_limit_with_its_operational_bound() {
    let (text, document) = with_resources(LIMIT * 1.02);
    let section: Vec<&str> =
        text.lines().skip_while(|line| *line != "Resources").take_while(|line| !line.is_empty()).collect();
    assert!(
        section[1].starts_with("  The limit is main thread of redis://cache\\x1b[2J: 98.0 % busy at "),
        "{text}"
    );
    assert!(section[1].ends_with("; 245 us per response on 1 allow 4,080/s."), "{text}");
    assert!(section[2].starts_with("  main thread of redis://cache"), "the fullest first: {text}");
    assert!(
        section[3].starts_with("  CPUs of host is busy: ") && section[3].ends_with(" requests/s."),
        "{text}"
    );
    assert_eq!(document["resource"]["is_full"], true);
    assert_eq!(document["steps"][0]["resources"][1]["resource"], "CPUs of host");
}

#[test]
fn cpus_that_something_else_fills_at_every_load_are_not_named_as_the_limit() {
    let (text, document) = observed(|goodput| {
        let (resource, servers) = ("CPUs of host".to_owned(), 2.0);
        let demand_s = servers / goodput;
        vec![ResourceUse { resource, servers, demand_s, limit_per_s: goodput, reached: 1.0 }]
    });
    assert!(!text.contains("The limit is CPUs"), "{text}");
    assert!(
        text.contains("CPUs of host is 100 % busy at ") && text.contains("something else uses it"),
        "{text}"
    );
    assert_eq!(document["resource"]["is_full"], false);
    assert_eq!(document["resource"]["grows"], false);
    let (text, _) = observed(|_| {
        let (resource, servers) = ("CPUs of host".to_owned(), 2.0);
        vec![ResourceUse { resource, servers, demand_s: 0.001, limit_per_s: 2_000.0, reached: 0.2 }]
    });
    assert!(text.contains("No observed resource is full at "), "{text}");
}

#[test]
fn cpus_that_a_few_connections_fill_already_are_the_limit_of_more_connections_too() {
    let levels = vec![1.0, 2.0, 4.0, 8.0];
    let closed = Config { kind: LoadKind::Connections, ladder: Ladder::List(levels), ..config(&[]) };
    let mut sweep = Sweep::new(closed);
    while let Some(step) = sweep.next() {
        let goodput = (1_000.0 * step.load.level()).min(2_000.0);
        let (resource, servers, limit_per_s) = ("CPUs of host".to_owned(), 2.0, 2_010.0);
        let reached = goodput / limit_per_s;
        let cpus = ResourceUse { resource, servers, demand_s: servers / limit_per_s, limit_per_s, reached };
        sweep.record_result(StepResult { goodput, resources: vec![cpus], ..measured(&step, f64::INFINITY) });
    }
    let resource = sweep.conclude(Facts::default()).resource.unwrap();
    assert!(resource.grows && resource.is_full, "{resource:?}");
}

#[test]
fn where_no_observed_resource_is_full_the_service_waits_for_something_else() {
    let (text, document) = with_resources(LIMIT * 2.0);
    assert!(
        text.contains("No observed resource is full at ") && text.contains("such as a lock or a pool"),
        "{text}"
    );
    assert_eq!(document["resource"]["is_full"], false);
    let (report, about) = (healthy(), about());
    let text = text::render(&SweepView::of(&report, &about), &Style::default());
    assert!(!text.contains("\nResources\n"), "{text}");
}

#[test]
fn full_cpus_are_noted_with_the_programs_that_took_them() {
    let with = |busy: f64, (name, role, cpus): (&str, Role, f64), knows_service: bool| {
        let mut sweep = Sweep::new(config(&[]));
        while let Some(step) = sweep.next() {
            let mut result = measured(&step, f64::INFINITY);
            result.host_busy = Some(busy);
            let program = |name: &str, role, cpus| ProgramUse {
                name: name.to_owned(),
                role,
                processes: 1,
                cpus,
                busiest_thread: cpus,
            };
            result.programs = vec![program(name, role, cpus)];
            if knows_service {
                result.programs.push(program("service", Role::Service, 0.9));
            }
            sweep.record_result(result);
        }
        let report = sweep.conclude(Facts { cores: Some(2.0), shared_cpus: Some(2), assumptions: None });
        let about = about();
        SweepView::of(&report, &about).notes
    };
    let busy = |busy: f64, name: &str, role: Role, cpus: f64| with(busy, (name, role, cpus), true);
    let unknown = with(0.99, ("shop", Role::Other, 1.6), false);
    assert_eq!(unknown.len(), 1, "any program could be the service: {unknown:?}");
    let noted = busy(0.99, "rustc", Role::Other, 0.94);
    assert_eq!(noted[1], "99.0 % of the CPUs were busy, `rustc` took 0.94 of them [busy_cpus]");
    for quiet in [busy(0.6, "rustc", Role::Other, 0.94), busy(0.99, "service", Role::Service, 1.6)] {
        assert_eq!(quiet.len(), 1, "{quiet:?}");
    }
}
