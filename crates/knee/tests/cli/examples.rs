//! The examples of the repository, as users run them before they copy from them.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::program::{BINARY, Home};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// Runs an example with this build as `knee` on PATH; what it printed on stdout.
fn run(home: &Home, program: &str, arguments: &[&str]) -> String {
    let bin = home.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let link = bin.join("knee");
    if !link.exists() {
        symlink(BINARY, &link).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let done = Command::new(program)
        .args(arguments)
        .current_dir(FOLDER)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("KNEE_HOME", home.path("home"))
        .env("PORT", free_port().to_string())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    // A debug build rates its own results invalid, so an example ends with 120 where users have 0.
    assert!(
        matches!(done.status.code(), Some(0 | 120)),
        "{program} {arguments:?}: {}\n{out}{err}",
        done.status
    );
    out.into_owned()
}

/// A port that nothing listens on, for the example whose server does not choose one itself.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn script(name: &str) -> String {
    run(&Home::new(), &format!("./{name}"), &[])
}

/// Whether a program is there; a machine without it leaves an example out, and says so.
#[allow(clippy::print_stdout, reason = "cargo shows it with the result of the test")]
fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|done| done.status.success());
    if !found {
        println!("left out: there is no {program}");
    }
    found
}

#[test]
fn every_example_is_listed_and_every_listed_one_is_there() {
    let list = fs::read_to_string(Path::new(FOLDER).join("README.md")).unwrap();
    let rows = list.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once('`'));
    let mut listed: Vec<String> = rows.map(|(name, _)| name.trim_end_matches('/').to_owned()).collect();
    let is_script = |name: &String| Path::new(name).extension().is_some_and(|end| end == "sh");
    let is_example =
        |name: &String| (is_script(name) && name != "demo.sh") || name == "study" || name == "fleet";
    let names = fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut there: Vec<String> = names.filter(is_example).collect();
    listed.sort();
    there.sort();
    assert_eq!((listed.len(), listed), (9, there));
}

#[test]
fn the_script_passes_its_thresholds() {
    let out = script("script.sh");
    assert!(out.contains("'rate>0.99' rate=100.00%"), "{out}");
}

#[test]
fn the_rate_shows_both_times() {
    let out = script("rate.sh");
    assert!(out.contains("response time") && out.contains("service time"), "{out}");
}

#[test]
fn the_sweep_names_a_capacity() {
    let out = script("sweep.sh");
    assert!(out.starts_with("Capacity") || out.contains("capacity"), "{out}");
}

#[test]
fn the_comparison_has_a_verdict() {
    let out = script("compare.sh");
    assert!(out.contains("slower") || out.contains("undecided") || out.contains("invalid"), "{out}");
}

#[test]
fn the_gate_prints_the_validity() {
    let out = script("ci-gate.sh");
    assert!(out.starts_with("\"validity\""), "{out}");
}

#[test]
fn the_example_with_tls_uses_both_versions_of_http() {
    if has("nginx") && has("openssl") {
        let out = script("tls.sh");
        assert_eq!((out.matches("planned =").count(), out.matches(" ok\n").count() >= 2), (2, true), "{out}");
    }
}

#[test]
fn the_form_is_submitted_with_its_token() {
    if has("python3") {
        let out = script("form.sh");
        assert!(out.contains("'rate==1' rate=100.00%"), "{out}");
    }
}

#[test]
#[cfg_attr(not(feature = "nats-tests"), ignore = "needs nats-server: --features nats-tests")]
fn the_fleet_of_three_makes_one_load() {
    // Not every container lets its root make namespaces and links.
    let links = "ip link add b0 type bridge && ip link add v0 type veth peer name v1";
    let allowed =
        Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "sh", "-c", links]).status();
    if has("ip") && allowed.is_ok_and(|status| status.success()) {
        let out = run(&Home::new(), "./fleet/up", &[]);
        for agent in ["load-01", "load-02", "load-03"] {
            assert!(out.contains(agent), "{agent}: {out}");
        }
    }
}

#[test]
fn the_study_compares_its_variants() {
    let home = Home::new();
    let folder = home.path("study");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(Path::new(FOLDER).join("study/study.toml"), folder.join("study.toml")).unwrap();
    let out = run(&home, "knee", &["study", folder.to_str().unwrap(), "--blocks", "1"]);
    assert!(out.contains("two"), "{out}");
}
