//! Services: started, placed, changed by an arm, stopped.

use knee_rig::{Exit, Overrides};

use crate::world::{SERVICE, World, get, try_get};

#[test]
fn a_service_that_was_started_answers_and_is_gone_with_its_rig() {
    let world = World::new();
    let (rig, url) = world.running(SERVICE);
    assert_eq!(get(&url, "/args"), "");
    rig.check().unwrap();
    rig.down().unwrap();
    assert!(try_get(&url, "/get").is_err());
    world.assert_nothing_left();
}

#[test]
fn a_rig_that_is_dropped_takes_everything_down() {
    let world = World::new();
    let (rig, url) = world.running(SERVICE);
    drop(rig);
    assert!(try_get(&url, "/get").is_err());
    world.assert_nothing_left();
}

#[test]
fn an_arm_adds_arguments_and_variables_or_has_another_command() {
    let world = World::new();
    let declaration = format!("{SERVICE}env = {{ MODE = \"plain\", WHERE = \"{{data}} {{study}}\" }}\n");
    let (mut rig, url) = world.running(&declaration);
    assert_eq!(get(&url, "/env?MODE"), "plain");
    let places = format!(
        "{}/data-main {}",
        rig.folder().display(),
        world.study.path().canonicalize().unwrap().display()
    );
    assert_eq!(get(&url, "/env?WHERE"), places);
    assert!(get(&url, "/env?TMPDIR").starts_with(&rig.folder().display().to_string()));
    assert_eq!(get(&url, "/env?CARGO_MANIFEST_DIR"), "", "the environment is a clean one");
    let overrides = Overrides {
        env: [("MODE".to_owned(), "fast on {port}".to_owned())].into(),
        args: vec!["--one".to_owned(), "--two={port}".to_owned()],
        ..Overrides::default()
    };
    let url = rig.restart("main", &overrides).unwrap().url;
    let port = url.rsplit(':').next().unwrap();
    assert_eq!(get(&url, "/env?MODE"), format!("fast on {port}"));
    assert_eq!(get(&url, "/args"), format!("--one --two={port}"));
    let command = crate::world::filled("HOST serve {port} {data} other");
    let command = Some(command.split(' ').map(str::to_owned).collect());
    let url = rig.restart("main", &Overrides { command, ..Overrides::default() }).unwrap().url;
    assert_eq!(get(&url, "/args"), "other");
}

#[test]
fn services_that_refer_to_others_come_after_them() {
    let world = World::new();
    let declaration = format!(
        "{SERVICE}env = {{ OTHER = \"{{service.zebra.url}}\" }}\n{}",
        SERVICE.replace("main", "zebra")
    );
    let (_rig, url) = world.running(&declaration);
    let other = get(&url, "/env?OTHER");
    assert_eq!(get(&other, "/args"), "");
}

#[test]
fn a_polite_end_is_tried_before_a_kill() {
    let world = World::new();
    let polite = r#"
        [service.main]
        command = ["sh", "-c", "trap 'exit 7' TERM; HOST serve {port} {data} & wait"]
        [service.deaf]
        command = ["sh", "-c", "trap '' TERM; HOST serve {port} {data} & wait; wait"]
        stop_within_s = 0.2
    "#;
    let (mut rig, _) = world.running(polite);
    assert_eq!(rig.stop("main").unwrap(), Some(Exit::Code(7)));
    rig.start("deaf", &Overrides::default()).unwrap();
    assert_eq!(rig.stop("deaf").unwrap(), None);
    assert_eq!(rig.stop("deaf").unwrap(), None, "it is not running any more");
    assert_eq!(crate::world::processes_about(world.temporary.path()), Vec::<String>::new());
}

#[test]
fn what_a_service_started_ends_with_it_even_where_it_left_its_group() {
    let world = World::new();
    let leaving = r#"
        [service.main]
        command = ["sh", "-c", "setsid sleep 1000 & (setsid sh -c 'sleep 1001 & sleep 1002' &) ; exec HOST serve {port} {data}"]
    "#;
    let (mut rig, _) = world.running(leaving);
    rig.stop("main").unwrap();
    assert_eq!(crate::world::processes_about(world.temporary.path()), Vec::<String>::new());
}

#[test]
fn an_address_of_the_users_own_is_used_as_it_is() {
    let world = World::new();
    let (own, url) = world.running(SERVICE);
    let other = World::new();
    let declaration = format!("[service.main]\naddress = \"{url}\"\nready = {{ path = \"/health\" }}\n");
    let mut rig = other.up(&declaration).unwrap();
    let running = rig.start("main", &Overrides::default()).unwrap();
    assert_eq!((running.url.as_str(), running.pid), (url.as_str(), None));
    rig.reset("main").unwrap();
    rig.down().unwrap();
    assert_eq!(get(&url, "/args"), "", "it was not stopped");
    own.down().unwrap();
    let error = other.up(&declaration).unwrap().start("main", &Overrides::default()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("service `main` does not answer at {url}")), "{error}");
}

#[test]
fn a_build_is_done_once_for_all_starts() {
    let world = World::new();
    let declaration = format!("{SERVICE}build = \"echo built >>count\"\n");
    let (mut rig, _) = world.running(&declaration);
    rig.restart("main", &Overrides::default()).unwrap();
    assert_eq!(std::fs::read_to_string(world.study.path().join("count")).unwrap(), "built\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_stays_on_the_cpus_it_was_given_and_so_does_the_generator() {
    let world = World::new();
    let free = SERVICE.replace("main", "free");
    let declaration = format!("{SERVICE}cpus = \"0\"\n{free}[generator]\ncpus = \"0\"\n");
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    let (mut rig, url) = world.running(&declaration);
    assert_eq!(get(&url, "/cpus"), "Cpus_allowed_list:\t0");
    assert_eq!(rig.not_here(), []);
    assert_eq!(rustix::thread::sched_getaffinity(None).unwrap().count(), 1);
    let free = rig.start("free", &Overrides::default()).unwrap().url;
    if all.count() > 1 {
        assert_ne!(
            get(&free, "/cpus"),
            "Cpus_allowed_list:\t0",
            "the generator's place is not the service's"
        );
    }
    rig.down().unwrap();
    assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), all);
}

#[cfg(target_os = "linux")]
#[test]
fn the_generator_goes_before_what_is_started_or_it_is_told_why_not() {
    let world = World::new();
    let (mut rig, _) = world.running(&format!("{SERVICE}[generator]\nweight = 20\n"));
    let running = rig.restart("main", &Overrides::default()).unwrap();
    let name = format!("{}-main", rig.folder().file_name().unwrap().to_str().unwrap());
    if let [not_here] = running.not_here.as_slice() {
        assert_eq!(not_here.what, "generator.weight");
        assert!(!not_here.reason.is_empty());
        return;
    }
    let group = crate::world::groups(&name).remove(0);
    let inside = std::fs::read_to_string(group.join("cgroup.procs")).unwrap();
    assert!(inside.lines().any(|pid| pid == running.pid.unwrap().to_string()), "{inside}");
    assert_twentieth(&group);
    rig.down().unwrap();
    assert_eq!(crate::world::groups(&name), Vec::<std::path::PathBuf>::new());
}

/// Fails unless a cgroup has a twentieth of the weight of one that nobody gave any.
#[cfg(target_os = "linux")]
fn assert_twentieth(group: &std::path::Path) {
    // In version 2, where the usual weight is 100, and in version 1, where it is 1,024.
    let weight = |file: &str| std::fs::read_to_string(group.join(file)).ok();
    let weight = (weight("cpu.weight"), weight("cpu.shares"));
    assert!(weight.0.as_deref() == Some("5\n") || weight.1.as_deref() == Some("51\n"), "{weight:?}");
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(
    not(all(feature = "postgres-tests", feature = "redis-tests")),
    ignore = "needs PostgreSQL and Redis: --features postgres-tests,redis-tests"
)]
fn the_generator_goes_before_stores_as_well() {
    let world = World::new();
    let stores = "[postgres.db]\n[redis.cache]\n[generator]\nweight = 20\n";
    let mut rig = world.up(&format!("{SERVICE}{stores}")).unwrap();
    let running = rig.start("main", &Overrides::default()).unwrap();
    let rig_name = rig.folder().file_name().unwrap().to_str().unwrap();
    if let [not_here] = running.not_here.as_slice() {
        assert_eq!(not_here.what, "generator.weight");
        assert_eq!(crate::world::groups(rig_name), Vec::<std::path::PathBuf>::new());
        return;
    }
    for store in ["postgres-db", "redis-cache"] {
        let groups = crate::world::groups(&format!("{rig_name}-{store}"));
        assert_eq!(groups.len(), 1, "{store}: {groups:?}");
        assert_ne!(std::fs::read_to_string(groups[0].join("cgroup.procs")).unwrap(), "", "{store} is in it");
        assert_twentieth(&groups[0]);
    }
}

#[test]
fn a_weight_of_the_generator_that_changes_nothing_or_cannot_be_is_told() {
    let world = World::new();
    for weight in ["0", "51"] {
        let error =
            world.up(&format!("{SERVICE}[generator]\nweight = {weight}\n")).err().unwrap().to_string();
        assert_eq!(error, format!("`generator.weight` is {weight}, and has to be 1 to 50"));
    }
    let own = "[service.main]\naddress = \"http://127.0.0.1:1\"\n[generator]\nweight = 20\n";
    let rig = world.up(own).unwrap();
    assert_eq!(rig.not_here()[0].what, "generator.weight");
}

#[test]
fn a_text_of_the_study_names_services_that_are_then_there() {
    let world = World::new();
    let declaration = format!("{SERVICE}{}", SERVICE.replace("main", "called"));
    let (mut rig, _) = world.running(&declaration);
    let filled = rig.fill("localhost:{service.called.port} {{port}}", "workloads.list.env.CALLED").unwrap();
    let address = filled.strip_suffix(" {port}").unwrap().replace("localhost", "http://127.0.0.1");
    assert_eq!(get(&address, "/args"), "", "it runs");
    assert_eq!(rig.fill("{service.called.url}", "x").unwrap(), address, "and was not started anew");
    rig.check_text("{service.called.url}", "x").unwrap();
    let error = rig.check_text("{service.caled.url}", "workloads.list.env.CALLED").unwrap_err().to_string();
    assert!(error.starts_with("`workloads.list.env.CALLED` refers to `{service.caled.url}`"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_share_of_a_cpu_is_had_or_told_to_be_impossible() {
    let world = World::new();
    let mut rig = world.up(&format!("{SERVICE}cpu_share = 0.5\n")).unwrap();
    let running = rig.start("main", &Overrides::default()).unwrap();
    let group = std::fs::read_to_string(format!("/proc/{}/cgroup", running.pid.unwrap())).unwrap();
    let name = format!("{}-main", rig.folder().file_name().unwrap().to_str().unwrap());
    if let [not_here] = running.not_here.as_slice() {
        assert_eq!(not_here.what, "service.main.cpu_share");
        assert!(!not_here.reason.is_empty() && !group.contains(&name));
    } else {
        assert!(group.contains(&name), "{group}");
        rig.down().unwrap();
        assert_eq!(crate::world::groups(&name), Vec::<std::path::PathBuf>::new());
    }
}
