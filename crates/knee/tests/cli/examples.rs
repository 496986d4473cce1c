//! The examples of the repository, as users run them before they copy from them.
//!
//! Each test fails if its example stops doing what its comment promises. How fast the demo server was is not tested. A
//! debug build rates its own results invalid, so its verdicts are undecided, and some examples end with 120.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::program::{BINARY, Home};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// What an example printed, and its exit code.
#[derive(Debug)]
struct Done {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Done {
    /// Fails unless each part was printed on stdout.
    fn has(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.out.contains(part), "{part:?} is missing in\n{}{}", self.out, self.err);
        }
    }

    /// The words of the line on stdout that begins with `start`, without `start`.
    fn words_after(&self, start: &str) -> Vec<&str> {
        let line = self.out.lines().find_map(|line| line.trim_start().strip_prefix(start));
        line.unwrap_or_else(|| panic!("no line begins with {start:?}: {self:#?}"))
            .split_whitespace()
            .collect()
    }
}

/// Runs an example with this build as `knee` on PATH.
fn run(home: &Home, program: &str, arguments: &[&str]) -> Done {
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
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done { code: done.status.code(), out: text(&done.stdout), err: text(&done.stderr) }
}

/// A port that nothing listens on, for the example whose server does not choose one itself.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Runs a script that ends with 0, or with 120 because its result is invalid.
fn script(name: &str) -> Done {
    let done = run(&Home::new(), &format!("./{name}"), &[]);
    assert!(matches!(done.code, Some(0 | 120)), "{done:#?}");
    done
}

/// A number as knee prints it: `1,234`.
fn number(word: &str) -> f64 {
    word.replace(',', "").parse().unwrap_or_else(|_| panic!("{word:?} is no number"))
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
fn the_script_passes_its_check_and_its_thresholds() {
    let done = script("script.sh");
    assert_eq!(done.code, Some(0), "{done:#?}");
    done.has(&["✓ 'rate>0.99' rate=100.00%", "✓ 'rate<0.01' rate=0.00%", "✓ status is 200"]);
}

#[test]
fn the_script_ends_with_99_if_a_threshold_fails() {
    let url = format!("URL=http://127.0.0.1:{}/", free_port());
    let done = run(&Home::new(), "knee", &["run", "script.js", "-e", &url]);
    assert_eq!(done.code, Some(99), "{done:#?}");
    done.has(&["✗ 'rate>0.99'", "✗ 'rate<0.01'", "✗ status is 200"]);
}

#[test]
fn the_rate_is_kept_after_a_warm_up_and_both_times_are_shown() {
    let done = script("rate.sh");
    done.has(&["open, 300/s Poisson", "response time      service time        send delay"]);
    done.has(&["\n  Warm-up     1.00 s, "]);
    // 3 s at 300/s, drawn: a standard deviation is 30.
    let planned = number(done.words_after("Requests")[0]);
    assert!((750.0..1_050.0).contains(&planned), "{done:#?}");
}

/// The ends of the capacity that a sweep names, if it found both.
fn capacity(done: &Done) -> Option<(f64, f64)> {
    let words = done.words_after("capacity ");
    match words[..] {
        [low, "to", high, "requests/s", ..] => Some((number(low), number(high))),
        _ => None,
    }
}

#[test]
fn the_sweep_names_a_capacity_with_both_of_its_ends() {
    // A machine that pauses can make the first step fail, and the sweep then has no lower end.
    let mut tries = (0..3).map(|_| script("sweep.sh"));
    let (done, (low, high)) = tries
        .find_map(|done| capacity(&done).map(|ends| (done, ends)))
        .expect("three sweeps found no capacity");
    done.has(&["requests/s with p90 ≤ 200 ms and errors ≤ 0.10 %", "\nSteps\n"]);
    let first: Vec<&str> = done.out.lines().next().unwrap().split(' ').collect();
    assert_eq!((first[0], number(first[1])), ("Capacity:", low), "the answer comes first: {done:#?}");
    // The worker does 250/s. In a step of one second, 50 more can wait for less than the allowed 200 ms.
    assert!((100.0..=300.0).contains(&low) && low < high, "{done:#?}");
}

#[test]
fn the_comparison_names_both_sides_and_has_a_verdict_on_b() {
    let done = run(&Home::new(), "./compare.sh", &[]);
    assert!(matches!(done.code, Some(0 | 120)), "{done:#?}");
    let server = "knee demo --serve-only --listen 127.0.0.1:{port} --server-workers 2 --server-time";
    done.has(&[&format!("  - A: {server} 2ms\n"), &format!("  - B: {server} 4ms\n")]);
    done.has(&["  - 6 blocks, A and B alternate"]);
    assert!(!done.out.contains("cannot give a verdict"), "the blocks can be too few for chance: {done:#?}");
    let [metric, verdict] = done.words_after("B vs A:")[..] else { panic!("{done:#?}") };
    let possible: &[&str] = if cfg!(debug_assertions) { &["undecided"] } else { &["slower", "undecided"] };
    assert!(metric == "p50" && possible.contains(&verdict), "{done:#?}");
}

#[test]
fn the_gate_lets_a_fast_service_pass_unless_the_measurement_is_invalid() {
    let done = script("ci-gate.sh");
    let validity = done.words_after("\"validity\":")[0].trim_matches('"');
    let code = if validity == "invalid" { 120 } else { 0 };
    assert_eq!(done.code, Some(code), "{done:#?}");
    assert!(["valid", "suspect", "invalid"].contains(&validity), "{done:#?}");
    assert!(!done.err.contains("have been crossed"), "{done:#?}");
}

#[test]
fn the_gate_fails_a_slow_service() {
    // Two workers that take 200 ms do ten requests/s; the gate sends 50 requests/s.
    let slow = ["--server-time", "200ms", "--server-workers", "2"];
    let done = run(&Home::new(), "./ci-gate.sh", &slow);
    // An invalid result, as that of every debug build, has the other code. Both fail the job.
    assert!(matches!(done.code, Some(99 | 120)), "{done:#?}");
    assert!(done.err.contains("thresholds on metrics 'http_req_duration' have been crossed"), "{done:#?}");
}

#[test]
#[cfg_attr(not(feature = "nginx-tests"), ignore = "needs nginx and openssl: --features nginx-tests")]
fn the_example_with_tls_uses_both_versions_of_http() {
    let done = script("tls.sh");
    done.has(&["knee 0.1.0  https://localhost:", "Requests    100 planned = 100 ok\n"]);
    done.has(&["this load used HTTP/1.1 [http2]", "4 at a time on each HTTP/2 connection, 400 requests"]);
    done.has(&["Requests    400 planned = 400 ok\n", "  Connections 2 opened\n"]);
}

#[test]
#[cfg_attr(not(feature = "python-tests"), ignore = "needs python3: --features python-tests")]
fn the_form_is_submitted_with_its_token() {
    let done = script("form.sh");
    assert_eq!(done.code, Some(0), "{done:#?}");
    done.has(&["✓ 'rate==1' rate=100.00%", "✓ the page has a token", "✓ is logged in", "60 out of 60"]);
    // 30 iterations fetch the form, submit it and follow the redirect.
    for endpoint in ["GET /login", "POST /login", "GET / "] {
        assert_eq!(done.words_after(endpoint)[..2], ["30", "0"], "{endpoint}: {done:#?}");
    }
}

#[test]
#[cfg_attr(
    not(all(feature = "nats-tests", feature = "mount-tests")),
    ignore = "needs nats-server, iproute2 and namespaces: --features nats-tests,mount-tests"
)]
fn the_fleet_of_three_makes_one_load() {
    let done = run(&Home::new(), "./fleet/up", &[]);
    assert!(matches!(done.code, Some(0 | 120)), "{done:#?}");
    done.has(&["load-01", "load-02", "load-03"]);
}

#[test]
fn the_study_compares_its_variants() {
    let home = Home::new();
    let folder = home.path("study");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(Path::new(FOLDER).join("study/study.toml"), folder.join("study.toml")).unwrap();
    let done = run(&home, "knee", &["study", folder.to_str().unwrap(), "--blocks", "1"]);
    assert!(matches!(done.code, Some(0 | 120)), "{done:#?}");
    assert!(done.out.starts_with("two workers instead of one\n"), "{done:#?}");
    done.has(&["\nComparisons: page\n", "1 block cannot give a verdict: it takes 6"]);
    // The row of the metric: both variants, then the verdict after its figures.
    for metric in ["goodput", "p50", "errors"] {
        let row = row(&done, &["one", "two", metric]);
        let verdicts = ["faster", "slower", "better", "worse", "more", "less", "same", "undecided", "open"];
        assert!(row.iter().any(|word| verdicts.contains(word)), "{row:?}: {done:#?}");
    }
    for variant in ["one", "two"] {
        let row = row(&done, &["page", variant, "1"]);
        assert!(row.last().is_some_and(|requests| number(requests) > 100.0), "{row:?}: {done:#?}");
    }
}

/// The words of the row of a table that begins with these cells, without them.
fn row<'a>(done: &'a Done, cells: &[&str]) -> Vec<&'a str> {
    let rows = done.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row.starts_with(cells));
    row.unwrap_or_else(|| panic!("no row begins with {cells:?}: {done:#?}"))[cells.len()..].to_vec()
}
