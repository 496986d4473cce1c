//! A load that a fleet makes, over a real NATS server: agents, controllers and the server are processes that the tests start,
//! and kill.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::program::{Home, number};
use crate::server::{Proof, Server};

use world::{Fleet, Nats, codes, json, planned};

mod scripts;
mod series;
mod takeovers;
mod world;

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn four_agents_make_one_load_and_the_server_counts_what_the_record_says() {
    let fleet = Fleet::start(4);
    let finished = fleet.load("-q 200 -z 3s", 4).finish();
    let run = json(&finished);
    let seen = fleet.server.count() as u64;
    assert_eq!(seen, 600, "{run:#}");
    assert_eq!(number(&run, "/requests/planned"), seen);
    assert_eq!(number(&run, "/requests/ok"), seen);
    let parts = run["parts"].as_array().unwrap();
    let agents: Vec<&str> = parts.iter().map(|part| part["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["load-01", "load-02", "load-03", "load-04"]);
    assert!(parts.iter().all(|part| part["lost"] == 0 && part["start_late_ms"].is_array()), "{parts:#?}");
    assert!(!codes(&run).iter().any(|code| ["parts", "arrivals", "offset"].contains(code)), "{run:#}");
    assert!(finished.stderr.contains("fleet: 4 agents: load-01, load-02, load-03, load-04"), "{finished:?}");
    fleet.check_copies(4);

    let text = fleet.home.knee("report last").run();
    assert!(text.stdout.contains("load-03"), "{}", text.stdout);
    let list = fleet.knee_fleet("ls");
    assert_eq!(list.stdout.matches("free").count(), 4, "{list:?}");
    assert!(!list.stdout.contains("run "), "nothing is left in NATS: {list:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn an_agent_that_is_killed_is_named_and_what_it_did_not_send_is_counted() {
    let mut fleet = Fleet::start(3);
    let mut load = fleet.load("-q 90 -z 8s", 3);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(150);
    fleet.agents[1].send(Signal::KILL);
    let finished = load.finish();
    let run = json(&finished);
    let (seen, lost) = planned(&run);
    assert_eq!(seen + lost, 720, "{run:#}");
    let parts = run["parts"].as_array().unwrap();
    assert!(parts[1]["lost"].as_u64().unwrap() > 0 && parts[0]["lost"] == 0, "{parts:#?}");
    assert_eq!(parts[1]["ending"], "truncated");
    assert!(codes(&run).contains(&"parts"), "{run:#}");
    assert!(finished.stderr.contains("load-02 is lost"), "{finished:?}");
    fleet.check_copies_without(3, Some(2));
    // Its process has ended with it: nothing is sent any more.
    let count = fleet.server.count();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(fleet.server.count(), count);
    let copies = fleet.copies();
    let run = copies[0].parent().unwrap().file_name().unwrap().to_str().unwrap();
    let fetched = fleet.knee_fleet(&format!("fetch {run}"));
    assert_eq!((fetched.code, fetched.stdout.lines().count()), (Some(0), 2), "{fetched:?}");
    assert!(fetched.stderr.contains("1 of 3 parts missing (1/3:2/3)"), "{fetched:?}");
    fleet.agents[1] = fleet.start_agent(2);
    assert_eq!(fleet.knee_fleet("ls").stdout.matches("free").count(), 3);
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_nats_server_that_is_killed_and_comes_back_costs_nothing() {
    let mut fleet = Fleet::start(2);
    let mut load = fleet.load("-q 60 -z 9s", 2);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(60);
    fleet.nats.restart(Duration::from_millis(500));
    fleet.server.wait_for(240);
    fleet.nats.restart(Duration::from_millis(1_500));
    let finished = load.finish();
    let run = json(&finished);
    assert_eq!(planned(&run), (540, 0), "{run:#}\n{}", finished.stderr);
    assert_eq!(fleet.server.count(), 540);
    assert!(run["parts"].as_array().unwrap().iter().all(|part| part["ending"] == "completed"), "{run:#}");
    fleet.check_copies(2);
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn a_nats_server_that_comes_back_with_an_empty_disk_gets_the_records_again() {
    let mut fleet = Fleet::start(2);
    let mut load = fleet.load("-q 60 -z 9s", 2);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(180);
    fleet.nats.lose_disk();
    let finished = load.finish();
    let run = json(&finished);
    assert_eq!(planned(&run), (540, 0), "{run:#}\n{}", finished.stderr);
    assert_eq!(fleet.server.count(), 540);
    fleet.check_copies(2);
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn an_agent_that_dies_before_the_start_is_named_and_nothing_is_sent() {
    let fleet = Fleet::start(2);
    let source = "import http from 'k6/http'; import { sleep } from 'k6';
        export const options = { vus: 4, duration: '30s' };
        export function setup() { sleep(1.5); }
        export default function () { http.get(__ENV.TARGET + '/k'); }
        export function teardown() { http.get(__ENV.TARGET + '/teardown'); }";
    let mut load = fleet.script(source, 2, "").start();
    load.wait_for("fleet: 2 agents");
    fleet.agents[1].send(Signal::KILL);
    let finished = load.finish();
    assert_eq!(finished.code, Some(104), "{finished:?}");
    assert!(finished.stderr.contains("load-02"), "{finished:?}");
    assert_eq!((fleet.seen("/k").len(), fleet.seen("/teardown").len()), (0, 1), "what setup() made goes");
    assert_eq!(fleet.knee_fleet("ls").stdout.matches("free").count(), 1, "the other one is free again");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn another_controller_takes_over_where_one_was_killed_and_has_the_whole_run() {
    let fleet = Fleet::start(2);
    let mut load = fleet.load("-q 60 -z 10s --name checkout", 2);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(120);
    load.send(Signal::KILL);
    let (list, run) = (fleet.knee_fleet("ls"), fleet.run_to_take_over());
    assert_eq!(list.stdout.matches("works for").count(), 2, "{list:?}");
    // What the dead one left behind is no record of its own.
    fs::remove_file(fleet.record()).unwrap();
    let before = fleet.copies();
    let finished = fleet.knee_fleet(&format!("resume {run}"));
    let report = fleet.home.report("last");
    assert_eq!(planned(&report), (600, 0), "{report:#}\n{finished:?}");
    assert_eq!(fleet.server.count(), 600);
    assert!(finished.stdout.contains("load-02"), "{finished:?}");
    assert!(!finished.stderr.contains("clock"), "another controller's clock is no jump: {finished:?}");
    for copy in before {
        fs::remove_file(copy).expect("those of the dead controller are left alone");
    }
    fleet.check_copies(2);
    let again = fleet.knee_fleet(&format!("resume {run}"));
    again.refused(
        &format!("there is no run `{run}` that can be taken over"),
        "`knee fleet ls` lists those that can be",
    );
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn records_that_agents_kept_are_fetched_when_the_copies_are_gone() {
    let fleet = Fleet::start(3);
    assert_eq!(planned(&json(&fleet.load("-q 90 -z 2s", 2).finish())), (180, 0));
    let (copies, record) = (fleet.copies(), fs::read(fleet.record()).unwrap());
    let run = copies[0].parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    fs::remove_dir_all(copies[0].parent().unwrap()).unwrap();
    let fetched = fleet.knee_fleet(&format!("fetch {run}"));
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    assert!(fetched.stderr.contains("load-03: the agent has no record of this run"), "{fetched:?}");
    assert!(!fetched.stderr.contains("missing"), "both parts are there: {fetched:?}");
    let paths: Vec<&str> = fetched.stdout.lines().collect();
    assert_eq!(paths.len(), 2, "{fetched:?}");
    let merged = fleet.home.knee(&format!("merge {} --record again.knee", paths.join(" "))).run();
    let again = fs::read(fleet.home.path("again.knee")).unwrap_or_else(|_| panic!("{merged:?}"));
    assert!(again == record, "the same record, byte for byte");
    let none = fleet.knee_fleet("fetch another-run");
    let error = "error: none of 3 agents that answer gave a record of the run `another-run`";
    assert!(none.stderr.contains(error) && none.code == Some(1), "{none:?}");
    assert_eq!(none.stdout, "");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn an_interrupt_ends_the_loads_of_all_agents_and_so_does_the_panic_button() {
    let fleet = Fleet::start(2);
    let mut load = fleet.load("-q 60 -z 60s", 2);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(60);
    load.send(Signal::INT);
    let finished = load.finish();
    let run = json(&finished);
    assert_eq!(run["ending"], "interrupted", "{finished:?}");
    assert_eq!(number(&run, "/requests/planned"), fleet.server.count() as u64);

    let mut load = fleet.load("-q 60 -z 60s", 2);
    load.wait_for("fleet: starts in");
    fleet.server.wait_for(fleet.server.count() + 60);
    let stopped = fleet.knee_fleet("stop --all");
    assert_eq!(stopped.stderr, "load-01: stopped\nload-02: stopped");
    let finished = load.finish();
    assert_eq!(json(&finished)["ending"], "aborted", "{finished:?}");
    assert_eq!(fleet.knee_fleet("stop --all").stderr, "no agent sends load");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn an_agent_makes_no_load_for_strangers_for_other_targets_or_above_its_ceilings() {
    let stranger = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    for (more, reason) in [
        (format!("signers = [\"{stranger}\"]"), "is not among the `signers` of the agent"),
        ("targets = [\"127.0.0.1:1\"]".to_owned(), "is not among the `targets` of the agent"),
        ("max_rate = 20".to_owned(), "are above the agent's `max_rate` of 20"),
        ("max_users = 3".to_owned(), "are above the agent's `max_users` of 3"),
        ("max_duration = \"1s\"".to_owned(), "is longer than the agent's `max_duration` of 1.00 s"),
    ] {
        let fleet = Fleet::with(2, |number| if number == 2 { more.clone() } else { String::new() });
        let finished = fleet.load("-q 60 -z 2s -c 10", 2).finish();
        assert_eq!(finished.code, Some(104), "{more}: {finished:?}");
        assert!(finished.stderr.contains(reason), "{more}: {finished:?}");
        assert!(finished.stderr.contains("load-02: "), "{more}: {finished:?}");
        assert_eq!(fleet.server.count(), 0, "{more}");
        assert!(
            !fleet.home.files().iter().any(|path| path.starts_with(fleet.home.path("runs"))),
            "no record"
        );
    }
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn agents_that_are_not_there_or_busy_are_named() {
    let fleet = Fleet::start(2);
    let finished = fleet.load("-n 10", 3).finish();
    assert_eq!(finished.code, Some(104), "{finished:?}");
    assert!(finished.stderr.contains("error: 2 of 3 agents can be taken"), "{finished:?}");
    let mut first = fleet.load("-q 20 -z 20s", 2);
    first.wait_for("fleet: starts in");
    let second = fleet.load("-n 10", 1).finish();
    assert!(second.stderr.contains("load-01 works for the run"), "{second:?}");
    first.send(Signal::INT);
    first.finish();
}

/// The subjects in a column of a table of permissions in the guide, as a list of NATS's configuration.
fn permissions(header: &str, column: usize) -> String {
    let guide = include_str!("../../../../docs/guide/fleet.md");
    let rows = guide.lines().skip_while(|line| *line != header).skip(2);
    let cells =
        rows.take_while(|line| line.starts_with('|')).map(|line| line.split('|').nth(column).unwrap());
    let subjects = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let quoted: Vec<String> =
        subjects.map(|subject| format!("\"{}\"", subject.replace("ID", "load-01"))).collect();
    assert!(quoted.len() > 2, "the guide has no permissions: {header}");
    quoted.join(", ")
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn agents_and_controllers_need_no_more_permissions_than_the_guide_says() {
    let permissions = |header| {
        let (publish, subscribe) = (permissions(header, 1), permissions(header, 2));
        format!(
            "{{ publish: {{ allow: [{publish}] }}, subscribe: {{ allow: [{subscribe}] }}, allow_responses: true }}"
        )
    };
    let agent = permissions("| publish | subscribe |");
    let boss = permissions("| a controller publishes | a controller subscribes |");
    let config = format!(
        "authorization {{ users = [ {{ user: boss, password: \"p@ss\", permissions: {boss} }}, \
         {{ user: agent, password: a, permissions: {agent} }} ] }}"
    );
    let (home, nats, server) = (Home::new(), Nats::with(&config), Server::start());
    let signer = home.knee("fleet key").run().stdout;
    let place = nats.url().trim_start_matches("nats://").to_owned();
    let file = format!(
        "nats = \"nats://agent:a@{place}\"\nid = \"load-01\"\nfolder = \"{}\"\nsigners = [\"{}\"]\ntargets = [\"{}\"]\n",
        home.path("agent").display(),
        signer.trim(),
        server.address(),
    );
    home.file("agent.toml", file);
    let mut agent = home.knee("agent --config agent.toml").start();
    let line = agent.wait_for("NATS at");
    assert!(!line.contains("agent:a"), "the password is shown: {line}");
    agent.wait_for("waiting for a controller");
    let load =
        format!("-q 50 -z 2s --no-tui --output-format json --agents 1 --nats nats://boss:p%40ss@{place}");
    let run = json(&home.knee(&load).arg(server.url("/")).run());
    assert_eq!((planned(&run), server.count()), ((100, 0), 100));
    // And to take a run over.
    let url = format!("nats://boss:p%40ss@{place}");
    let load = format!("-q 50 -z 6s --no-tui --output-format json --agents 1 --nats {url}");
    let mut load = home.knee(&load).arg(server.url("/")).start();
    load.wait_for("fleet: starts in");
    server.wait_for(150);
    load.send(Signal::KILL);
    let list = home.knee(&format!("fleet ls --nats {url}")).run();
    let run = list.stdout.lines().find_map(|line| line.strip_prefix("run ")?.split(':').next());
    let taken = home.knee(&format!("fleet resume {} --nats {url}", run.unwrap())).run();
    assert!(taken.stdout.contains("load-01"), "{taken:?}");
    assert_eq!(planned(&home.report("last")), (300, 0), "{taken:?}");
    let list = home.knee(&format!("fleet ls --nats {url}")).run();
    assert!(!list.stdout.contains("run "), "nothing is left in NATS: {list:?}");
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn agents_and_controllers_reach_nats_over_tls_and_only_if_they_trust_its_authority() {
    let (home, server, proof) = (Home::new(), Server::start(), Proof::new());
    home.file("authority.pem", &proof.authority);
    home.file("certificate.pem", &proof.certificate);
    home.file("key.pem", &proof.key);
    let file = |name: &str| home.path(name).display().to_string();
    let nats = Nats::with(&format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}",
        file("certificate.pem"),
        file("key.pem")
    ));
    let signer = home.knee("fleet key").run().stdout;
    let url = nats.url().replace("nats://", "tls://");
    let agent = format!(
        "nats = \"{url}\"\nauthorities = {:?}\nid = \"load-01\"\nfolder = {:?}\nsigners = [{:?}]\ntargets = [\"{}\"]\n",
        file("authority.pem"),
        file("agent"),
        signer.trim(),
        server.address(),
    );
    home.file("agent.toml", &agent);
    let mut agent = home.knee("agent --config agent.toml").start();
    agent.wait_for("waiting for a controller");
    let load = format!("-q 50 -z 2s --no-tui --output-format json --agents 1 --nats {url}");
    let load = |more: &str| home.knee(&load).args(more).arg(server.url("/")).run();
    let run = json(&load("--nats-ca authority.pem"));
    assert_eq!((planned(&run), server.count()), ((100, 0), 100));
    let stranger = load("");
    assert_eq!((stranger.code, server.count()), (Some(104), 100), "{stranger:?}");
    assert!(stranger.stderr.contains("error: cannot connect to NATS at tls://"), "{stranger:?}");
}

#[test]
fn what_a_fleet_cannot_do_is_refused_before_anything_is_asked() {
    let home = Home::new();
    home.knee("fleet key").run();
    let nats = "--nats nats://127.0.0.1:1 --agents 2 http://127.0.0.1:9/";
    home.knee("-n 10").args("--nats nats://127.0.0.1:1 http://127.0.0.1:9/").run().refused(
        "`--nats` does not say which agents make the load",
        "add `--agents N`, or `--fleet NAME` for all agents of a fleet",
    );
    home.knee("-n 10 --execution-segment 0:1/2").args(nats).run().refused(
        "`--execution-segment` does not work with a fleet",
        "a fleet divides the load among its agents",
    );
    let finished = home.knee("-n 10").args(nats).run();
    assert!(finished.stderr.contains("error: cannot connect to NATS at nats://127.0.0.1:1"), "{finished:?}");
    let other = Home::new();
    let finished = other.knee("-n 10").args(nats).run();
    assert!(finished.stderr.contains("make one with `knee fleet key`"), "{finished:?}");
}
