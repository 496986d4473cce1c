//! Command lines and what becomes of them: tables of good and bad ones.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use knee_core::plan::{Executor, Stop};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::unit::Nanos;
use knee_engine::http::settings::AddressFamily;
use knee_engine::requests::RequestBody;

use super::output::Progress;
use super::*;
use crate::args::{self, Format, Invocation, Refused};

/// A name server with three names, and no network.
fn resolve_name(host: &str, port: u16, _: Nanos) -> std::io::Result<Vec<SocketAddr>> {
    let addresses: Vec<IpAddr> = match host {
        "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        "four.test" => vec![Ipv4Addr::new(10, 0, 0, 4).into()],
        "public.test" => vec![Ipv4Addr::new(192, 0, 2, 1).into()],
        "slow.test" => return Err(std::io::ErrorKind::TimedOut.into()),
        _ => vec![host.parse().map_err(|_| std::io::Error::from(std::io::ErrorKind::NotFound))?],
    };
    Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

fn surroundings() -> Surroundings {
    Surroundings {
        cpus: 4,
        stdout_terminal: true,
        stderr_terminal: true,
        no_color: false,
        without_http2: false,
        proxies: None,
        resolve: resolve_name,
    }
}

/// Splits at blanks; a blank within an argument is written `·`.
fn typed(line: &str) -> Vec<OsString> {
    let words = line.split_whitespace().map(|word| word.replace('·', " "));
    std::iter::once("knee".to_owned()).chain(words).map(OsString::from).collect()
}

fn read(line: &str) -> Result<Load, Problem> {
    match args::parse(typed(line)) {
        Ok(Invocation::Load(args)) => resolve(&args, &surroundings()),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(Refused::Problem(problem)) => Err(problem),
        Err(Refused::Shown(text)) => panic!("{line}: {text}"),
    }
}

fn good(line: &str) -> Load {
    read(line).unwrap_or_else(|problem| panic!("{line}\n{problem}"))
}

/// Every command line here is wrong.
const BAD: &[&str] = &[
    // The command line itself.
    "",
    "http://localhost/ --observe mysql://localhost/shop",
    "http://localhost/ --observe pid:shop",
    "http://localhost/ --observe profile:shop",
    "http://localhost/ --observe profile",
    "--nonsense http://localhost/",
    "--conections 5 http://localhost/",
    "http://localhost/ http://localhost/",
    "http://localhost/ -c",
    "http://localhost/ -n 5 -n 6",
    "http://localhost/ --output-format yaml",
    "http://localhost/ -disable-keepalive",
    // Slips of newcomers, and words of other tools.
    "rnu script.js",
    "sweeep http://localhost/",
    "curl http://localhost/",
    "bench http://user:pw@localhost/",
    "repport",
    "run",
    "compare http://localhost/",
    "study",
    "version",
    "scale 5",
    "report --lsit",
    "http://localhost/ 10s",
    "http://localhost/ -z 5 s",
    "http://localhost/ -rate 5",
    "http://localhost/ --vus 5",
    "http://localhost/ --qps 5",
    "http://localhost/ --json",
    "http://localhost/ -k",
    "--url http://localhost/",
    "demo --port 80",
    "http://localhost/ -H Authorization",
    "http://localhost/ -q 100rps",
    "18080",
    ":18080/path",
    "./index.html",
    "ws://localhost/",
    "http://user:pw@localhost:99999/",
    // URLs.
    "ftp://localhost/",
    "http://",
    "http:localhost",
    "http://localhost:0/",
    "http://localhost:99999/",
    "http://local·host/",
    // Amounts.
    "http://localhost/ -c 0",
    "http://localhost/ -c -5",
    "http://localhost/ -c 1.5",
    "http://localhost/ -c 9999m",
    "http://localhost/ -n 0",
    "http://localhost/ -n NaN",
    "http://localhost/ -q 0",
    "http://localhost/ -q -1",
    "http://localhost/ -q inf",
    "http://localhost/ -q 9999999m",
    "http://localhost/ -z 0",
    "http://localhost/ -z -3s",
    "http://localhost/ -z 10parsecs",
    "http://localhost/ -z 999d",
    "http://localhost/ -t 0",
    "http://localhost/ --workers 0",
    "http://localhost/ --fps 0",
    "http://localhost/ -r many",
    "http://localhost/ --decoded-max 0",
    // Stages.
    "http://localhost/ --stage 10s",
    "http://localhost/ --stage 10s:1.5",
    "http://localhost/ --stage 10s:0",
    "http://localhost/ --stage 0s:5",
    "http://localhost/ --stage 10s:5 -z 5s",
    "http://localhost/ --stage 10s:5 --warm-up 5s",
    // Combinations.
    "http://localhost/ -n 10 -z 10s",
    "http://localhost/ -n 10 --stage 10s:5",
    "http://localhost/ --arrivals poisson",
    "http://localhost/ --warm-up 5s",
    "http://localhost/ -d x -D y",
    "http://localhost/ -d x -F a=b",
    "http://localhost/ --cert x",
    "http://localhost/ --key x",
    "http://localhost/ --ipv4 --ipv6",
    "http://localhost/ --grace 1s -w",
    "http://localhost/ -o a --record a",
    "http://localhost/ --urls-from-file a",
    // Requests.
    "http://localhost/ -H nocolon",
    "http://localhost/ -H a·b:c",
    "http://localhost/ -H :c",
    "http://localhost/ -H a:b\u{1}c",
    "http://localhost/ -H accept:a -A b",
    "http://localhost/ -H host:a -H Host:b",
    "http://localhost/ -H content-length:5 -d abc",
    "http://localhost/ -H transfer-encoding:chunked",
    "http://localhost/ -m G·T",
    "http://localhost/ -m CONNECT",
    "http://localhost/ -a user",
    "http://localhost/ -F file",
    "http://localhost/ --connect-to a:1",
    // Files.
    "http://localhost/ -D /nowhere",
    "http://localhost/ -Z EMPTY",
    "http://localhost/ --cacert /nowhere",
    "http://localhost/ --cacert TEXT",
    "http://localhost/ --cacert JUNK",
    "http://localhost/ --cert TEXT --key TEXT",
    "http://localhost/ --unix-socket TEXT",
    "--urls-from-file EMPTY",
    "--urls-from-file URLS",
    // Hosts.
    "http://nowhere.test/",
    "orders.js",
    "http://slow.test/",
    "http://four.test/ --ipv6",
    "http://public.test/",
    "http://public.test/ -c 20 -z 10s",
    "http://public.test/ -c 20 -q 51 -z 10s",
    "http://public.test/ --allow-host other.test",
    "http://localhost/ --connect-to localhost:80:public.test:80",
    // What comes later.
    "http://localhost/ -p 4",
    "http://localhost/ --http2 -p 0",
    "http://localhost/ --http-version 3",
    "http://localhost/ -x ftp://proxy",
    "http://localhost/ -x localhost:3128 --connect-to a:1:b:1",
    "http://localhost/ -x localhost:3128 --proxy-header a:b",
    "http://localhost/ -x nowhere.test:3128",
    "http://public.test/ -c 500 -x localhost:3128",
    "http://nowhere.test/ -c 500 -x localhost:3128",
    "http://localhost/ --rand-regex-url",
    "http://localhost/ --burst-delay 2s",
    "http://localhost/ --db-url a.db",
    "http://localhost/ --debug",
];

#[test]
fn bad_input_is_reported_before_any_load() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let empty = file("empty", b"");
    let text = file("text", b"no certificate\n");
    let junk = file("junk", b"-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n");
    let urls = file("urls", b"# a comment\nhttp://localhost/ 2\n\nhttp://localhost/b 0\n");
    let mut table = String::new();
    for line in BAD {
        let real: String = [("EMPTY", &empty), ("TEXT", &text), ("JUNK", &junk), ("URLS", &urls)]
            .into_iter()
            .fold(String::from(*line), |line, (name, path)| line.replace(name, path.as_str()));
        let problem = read(&real).expect_err(line);
        assert!(
            !problem.hint.is_empty() && !problem.what.ends_with('.') && !problem.hint.ends_with('.'),
            "{line}"
        );
        let told = problem.to_string().replace(&folder.path().display().to_string(), "FOLDER");
        write!(table, "$ knee {}\n{told}\n\n", line.escape_debug()).unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn without_flags_two_hundred_requests_go_over_fifty_connections() {
    let load = good("http://localhost/");
    let [scenario] = &load.plan.scenarios[..] else { panic!("{:?}", load.plan) };
    assert_eq!(scenario.executor, Executor::Closed { vus: Curve::constant(50.0) });
    assert_eq!(scenario.stop, Stop::Requests(200));
    assert_eq!(
        (load.plan.warm_up, load.plan.grace, load.plan.workers),
        (Nanos::ZERO, Nanos::from_secs(5), 4)
    );
    assert_eq!(load.plan.request_timeout, None);
    assert_eq!(load.plan.endpoints[0].name, "GET http://localhost/");
    assert_eq!(load.output.progress, Progress::Screen { fps: 4, color: true });
    assert_eq!(load.output.format, Format::Text);
    assert_eq!(load.notes, [""; 0]);
}

#[test]
fn loads_become_plans() {
    let constant = Curve::constant;
    let secs = Nanos::from_secs;
    let stage = |secs, target| Stage { duration: Nanos::from_secs(secs), target };
    let closed = |users| Executor::Closed { vus: users };
    let open = |rate, users_max| Executor::Open { rate, arrivals: Arrivals::Uniform, users_max };
    let poisson =
        Executor::Open { rate: constant(0.5), arrivals: Arrivals::Poisson { seed: 7 }, users_max: 50 };
    let ramp = |start, stages: &[Stage]| Curve { start, stages: stages.to_vec() };
    let rows = [
        ("-n 1.5k -c 10", closed(constant(10.0)), Stop::Requests(1_500)),
        ("-n 3", closed(constant(3.0)), Stop::Requests(3)),
        ("-c 10 -z 1m30s", closed(constant(10.0)), Stop::At(secs(90))),
        ("-z 10 --warm-up 2s", closed(constant(50.0)), Stop::At(secs(12))),
        ("-q 1k -z 10s", open(constant(1_000.0), 50), Stop::At(secs(10))),
        ("-q 0.5 -z 1m --arrivals poisson --seed 7", poisson, Stop::At(secs(60))),
        ("-q 10 -n 20 -c 30", open(constant(10.0), 20), Stop::Requests(20)),
        ("--stage 10s:20,5s:20", closed(ramp(0.0, &[stage(10, 20.0), stage(5, 20.0)])), Stop::At(secs(15))),
        (
            "-c 5 --stage 10s:20 --stage 0s:1",
            closed(ramp(5.0, &[stage(10, 20.0), stage(0, 1.0)])),
            Stop::At(secs(10)),
        ),
        ("-q 0 --stage 10s:20", open(ramp(0.0, &[stage(10, 20.0)]), 50), Stop::At(secs(10))),
        ("-q 5 -c 9 --stage 10s:20 -z 30s", open(ramp(5.0, &[stage(10, 20.0)]), 9), Stop::At(secs(30))),
        (
            "-q 5 --stage 10s:20 --warm-up 2s",
            open(ramp(5.0, &[stage(2, 5.0), stage(10, 20.0)]), 50),
            Stop::At(secs(12)),
        ),
    ];
    for (line, executor, stop) in rows {
        let load = good(&format!("http://localhost/ {line}"));
        assert_eq!(load.plan.scenarios[0].executor, executor, "{line}");
        assert_eq!(load.plan.scenarios[0].stop, stop, "{line}");
    }
}

#[test]
fn a_request_for_useless_connections_gets_a_note() {
    assert_eq!(good("http://localhost/ -n 3").notes, [""; 0]);
    assert_eq!(
        good("http://localhost/ -n 3 -c 5").notes,
        ["3 connections instead of 5: there are only 3 requests"]
    );
    assert_eq!(good("http://localhost/ -n 3").plan.workers, 3);
}

#[test]
fn what_is_sent_is_what_was_typed() {
    let load = good(
        "http://me:pw@localhost/ -m post -d {} -T application/json -A text/plain -U me -H x:·1 -H x:2 --host other -a u:p",
    );
    let [request] = &load.requests[..] else { panic!("{:?}", load.requests) };
    assert_eq!(request.method, "POST");
    assert!(matches!(&request.body, RequestBody::Fixed(body) if body == b"{}"));
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
        .collect();
    assert_eq!(
        headers,
        [
            "x: 1",
            "x: 2",
            "accept: text/plain",
            "content-type: application/json",
            "user-agent: me",
            "host: other",
            "authorization: Basic dTpw"
        ]
    );
    assert_eq!(load.title, "http://localhost/");
    assert_eq!(load.plan.endpoints[0].name, "POST http://localhost/");
}

#[test]
fn connections_are_made_as_was_typed() {
    let load = good(
        "localhost -t 2s --connect-timeout 500ms --disable-keepalive --disable-compression -r 3 --insecure -4 --decoded-max 1m",
    );
    assert_eq!(load.plan.request_timeout, Some(Nanos::from_secs(2)));
    assert_eq!(load.plan.connect_timeout, Nanos::from_millis(500));
    assert!(!load.http.keep_alive && !load.http.decode && load.http.tls.insecure);
    assert_eq!(
        (load.http.redirects, load.http.decoded_max, load.http.family),
        (3, 1 << 20, AddressFamily::V4)
    );
    assert_eq!(load.targets[0].addresses, ["127.0.0.1:80".parse().unwrap()]);
}

#[test]
fn bodies_and_urls_come_from_the_lines_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = folder.path().join("bodies");
    std::fs::write(&bodies, "one\r\n\ntwo").unwrap();
    let urls = folder.path().join("urls");
    std::fs::write(&urls, "\u{feff}# all of them\nlocalhost/a 2.5\nhttp://localhost/b\n").unwrap();
    let args = |line: &str| {
        let mut line = typed(line);
        line.extend(["-Z".into(), bodies.clone().into(), "--urls-from-file".into(), urls.clone().into()]);
        line
    };
    let Ok(Invocation::Load(args)) = args::parse(args("")) else { panic!("refused") };
    let load = resolve(&args, &surroundings()).unwrap();
    let weights: Vec<_> = load.requests.iter().map(|request| (request.url.path(), request.weight)).collect();
    assert_eq!(weights, [("/a", 2.5), ("/b", 1.0)]);
    assert!(
        matches!(&load.requests[0].body, RequestBody::Choice(bodies) if bodies == &[b"one".to_vec(), b"two".to_vec()])
    );
    assert_eq!(load.title, "http://localhost/a and 1 more");
}

#[test]
fn a_public_host_takes_a_little_load_or_a_confirmation() {
    for line in [
        "http://public.test/ -c 20 -n 2000",
        "http://public.test/ -c 20 -q 50 -z 1m",
        "http://public.test/ -c 500 -z 1m --allow-host PUBLIC.test",
        "http://localhost/ -c 500 --connect-to localhost:80:public.test:80 --allow-host public.test",
        "http://public.test/ -c 500 --connect-to public.test:80:localhost:80",
    ] {
        good(line);
    }
}

#[test]
fn http2_puts_several_requests_at_a_time_on_each_connection() {
    let load = good("http://localhost/ --http2 -c 3 -p 4 -z 1s");
    assert_eq!((load.http.version, load.http.streams), (HttpVersion::Two, 4));
    assert_eq!(load.plan.users_max(), 12);
    let load = good("http://localhost/ --http-version 2 -p 4 --stage 1s:3");
    assert_eq!(load.plan.users_max(), 12, "stages are in connections");
    let load = good("http://localhost/ -n 10");
    assert_eq!((load.http.version, load.http.streams), (HttpVersion::One, 1));
}

#[test]
fn flags_of_peers_that_mean_nothing_here_are_explained() {
    assert_eq!(good("http://localhost/ --http-version 1.1 -p 1").notes, [""; 0]);
    let notes = good("http://localhost/ --latency-correction").notes;
    assert!(notes[0].contains("response time always counts from the scheduled send"), "{notes:?}");
}

#[test]
fn without_a_terminal_or_with_no_tui_there_are_lines() {
    let read = |line: &str, surroundings: &Surroundings| {
        let Ok(Invocation::Load(args)) = args::parse(typed(line)) else { panic!("{line}") };
        resolve(&args, surroundings).unwrap().output
    };
    let piped = Surroundings { stdout_terminal: false, ..surroundings() };
    assert_eq!(read("localhost", &piped).progress, Progress::Lines);
    assert!(!read("localhost", &piped).color);
    assert_eq!(read("localhost --no-tui", &surroundings()).progress, Progress::Lines);
    assert_eq!(read("localhost --output-format quiet", &surroundings()).progress, Progress::None);
    let plain = Surroundings { no_color: true, ..surroundings() };
    assert_eq!(read("localhost --fps 10", &plain).progress, Progress::Screen { fps: 10, color: false });
    assert!(!read("localhost -o file", &surroundings()).color);
}

proptest::proptest! {
    #[test]
    fn no_command_line_makes_the_program_panic(
        words in proptest::collection::vec(word(), 0..6),
    ) {
        let line = std::iter::once("knee".to_owned()).chain(words).map(OsString::from);
        if let Ok(Invocation::Load(args)) = args::parse(line) {
            // What it resolves to does not matter here; what it says is tested above.
            let _ = resolve(&args, &surroundings());
        }
    }
}

/// What a word of a random command line can be.
const WORDS: &[&str] = &[
    "-n",
    "-c",
    "-z",
    "-q",
    "--stage",
    "--warm-up",
    "--grace",
    "-t",
    "-H",
    "-a",
    "-d",
    "-F",
    "-m",
    "-u",
    "-r",
    "--seed",
    "--workers",
    "--fps",
    "--decoded-max",
    "--connect-to",
    "--arrivals",
    "poisson",
    "--allow-host",
];

/// Flags, plausible values and nonsense.
fn word() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    prop_oneof![
        prop::sample::select(WORDS).prop_map(str::to_owned),
        "http://localhost(:[0-9]{1,5})?/[a-z?&=%]{0,5}",
        "[0-9]{1,20}(\\.[0-9]{1,3})?(k|m|s|ms|d)?",
        "[0-9]{1,9}s:[0-9]{1,9}",
        "[a-z:\\[\\]]{0,12}",
        "\\PC{0,8}",
    ]
}
