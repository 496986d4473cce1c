//! What other sites and programs try on the pages of `knee`, and that each try has a test.
//!
//! The list of all tries is `docs/reference/attacks.md`. Has the tests of those that need a whole process or a browser
//! and fit nowhere else; does not repeat the others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use knee_core::record::run::read;
use rustix::process::Signal;

use crate::browser::Browser;
use crate::control::{begun, controlled, results, status};
use crate::live_series::study;
use crate::program::{Home, Running};
use crate::server::Server;
use crate::web::{Page, contains, started};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// How many tries the list has.
const ATTACKS: usize = 47;

/// The tests that each row of the list names, by the number of the row.
fn listed() -> BTreeMap<usize, Vec<String>> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/reference/attacks.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let Ok(number) = cells[0].parse::<usize>() else { continue };
        let [_, tried, happens, tests] = cells[..] else { panic!("not four cells: {line}") };
        assert!(!tried.is_empty() && !happens.is_empty(), "{line}");
        let named = tests.split('`').filter(|test| test.contains("::")).map(str::to_owned).collect();
        assert!(rows.insert(number, named).is_none(), "{number} is there twice");
    }
    rows
}

/// Whether a file has a test of this name.
fn has_test(file: &str, name: &str) -> bool {
    let text = fs::read_to_string(Path::new(ROOT).join("crates").join(file)).unwrap_or_default();
    let Some((before, _)) = text.split_once(&format!("fn {name}(")) else { return false };
    // The attributes of a function follow the last function, or whatever else ends with a brace.
    let attributes = before.rsplit("}\n").next().unwrap_or_default();
    attributes.contains("#[test]")
}

#[test]
fn every_attack_of_the_list_has_a_test_that_exists() {
    let rows = listed();
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), (1..=ATTACKS).collect::<Vec<_>>());
    for (number, tests) in rows {
        assert!(!tests.is_empty(), "{number} names no test");
        for test in tests {
            let (file, name) = test.split_once("::").unwrap();
            assert!(has_test(file, name), "{number}: there is no test {test}");
        }
    }
}

#[test]
fn a_name_that_is_no_test_is_found() {
    let file = "knee/tests/cli/attacks.rs";
    assert!(has_test(file, "a_name_that_is_no_test_is_found"));
    assert!(!has_test(file, "listed") && !has_test(file, "nothing") && !has_test("nowhere.rs", "listed"));
}

/// A load that can be stopped and has begun, with its server.
fn load() -> (Home, Server, Running, Page, String) {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) =
        controlled(&home, "-q 20 -z 1h -c 4 --web --web-control", &server.url("/"));
    begun(&page);
    (home, server, running, page, control)
}

/// That nothing was stopped or changed.
fn goes_on(page: &Page) {
    let state = page.state();
    assert_eq!((&state["run"]["phase"], &state["over"]), (&"loading".into(), &false.into()), "{state}");
    assert_eq!(state["steering"]["changes"], serde_json::json!([]));
}

#[test]
fn a_web_socket_is_never_opened() {
    let (_home, _server, running, page, _control) = load();
    let upgrade = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let first = |text: &str| BufReader::new(page.send(text)).lines().next().unwrap().unwrap();
    for target in ["/", "/api/state", "/api/events", "/api/run/stop"] {
        // A browser sends the cookie along, whatever page opens the socket, and says what page that is.
        for origin in ["http://evil.test".to_owned(), "null".to_owned(), "http://127.0.0.1:1".to_owned()] {
            let line = first(&page.request(target, &format!("{upgrade}origin: {origin}\r\n")));
            assert_eq!(line, "HTTP/1.1 403 Forbidden", "{target} from {origin}");
        }
        let own = format!("{upgrade}origin: http://{}\r\n", page.address);
        let line = first(&page.request(target, &own));
        let expected = if target == "/api/run/stop" { "HTTP/1.1 404 Not Found" } else { "HTTP/1.1 200 OK" };
        assert_eq!(line, expected, "answered like any other request to {target}");
    }
    goes_on(&page);
    running.send(Signal::INT);
    running.finish();
}

#[test]
fn a_header_or_a_field_that_names_another_method_changes_nothing() {
    let (_home, _server, running, page, control) = load();
    let right = format!("control={control}");
    let names = ["x-http-method-override", "x-http-method", "x-method-override"];
    for name in names {
        let more = format!("{name}: POST\r\n");
        for method in ["GET", "HEAD"] {
            for target in ["/api/run/stop".to_owned(), format!("/api/run/stop?{right}&_method=POST")] {
                let asked = page.request(&target, &more).replacen("GET", method, 1);
                assert_eq!(status(&page.answer(&asked)), "404", "{asked}");
            }
        }
        let read = page.form("/api/state", &format!("{right}&_method=GET")).replacen(
            "\r\n",
            "\r\nx-http-method: GET\r\n",
            1,
        );
        assert_eq!(status(&page.answer(&read)), "405", "a form stays a form");
    }
    goes_on(&page);
    running.send(Signal::INT);
    running.finish();

    let (home, server) = (Home::new(), Server::start());
    fs::create_dir(home.path("scripts")).unwrap();
    let folder = home.path("scripts").display().to_string();
    let (running, page, control) = controlled(&home, "serve --control --folder", &folder);
    let fields =
        format!("control={control}&kind=url&url=http%3A%2F%2F{}%2F&rate=5&duration=1h", server.address());
    for name in names {
        let asked =
            page.request(&format!("/start/confirmed?{fields}&_method=POST"), &format!("{name}: POST\r\n"));
        assert_eq!(status(&page.answer(&asked)), "404");
    }
    running.send(Signal::INT);
    assert_eq!((running.finish().code, server.count()), (Some(0), 0));
}

#[test]
fn a_browser_that_asks_for_another_site_first_gets_no_permission() {
    let (_home, _server, running, page, _control) = load();
    for (origin, expected) in [("http://evil.test", "403"), (&format!("http://{}", page.address), "405")] {
        for target in ["/api/run/stop", "/api/state"] {
            let more = format!(
                "origin: {origin}\r\naccess-control-request-method: POST\r\n\
                 access-control-request-headers: authorization\r\n"
            );
            let answer = page.answer(&page.request(target, &more).replacen("GET", "OPTIONS", 1));
            assert_eq!(status(&answer), expected, "{answer}");
            assert!(!answer.to_ascii_lowercase().contains("access-control-"), "{answer}");
        }
    }
    goes_on(&page);
    running.send(Signal::INT);
    running.finish();
}

/// What a page of another port does with everything that a site can send, although it knows both tokens.
const TRIES: &str = "(async () => {
    const at = 'http://ADDRESS', stop = { control: 'CONTROL' }, worked = [];
    const attempt = async (name, work) => { try { if (await work()) worked.push(name); } catch { } };
    const loaded = (element, source) => new Promise((resolve) => {
        element.onload = () => resolve(true);
        element.onerror = () => resolve(false);
        element.src = at + source;
        document.body.append(element);
    });
    const form = (type) => fetch(at + '/api/run/stop', { method: 'POST', mode: 'no-cors', credentials: 'include',
        headers: { 'content-type': type }, body: new URLSearchParams(stop).toString() });
    await attempt('read', () => fetch(at + '/api/state', { credentials: 'include' }));
    await attempt('read with the token', () => fetch(at + '/api/state', { headers: { authorization: 'Bearer TOKEN' } }));
    await attempt('events', () => new Promise((resolve) => {
        const source = new EventSource(at + '/api/events', { withCredentials: true });
        source.onopen = () => resolve(true);
        source.onerror = () => resolve(false);
    }));
    await attempt('socket', () => new Promise((resolve) => {
        const socket = new WebSocket('ws://ADDRESS/api/events');
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
    }));
    await attempt('script', () => loaded(document.createElement('script'), '/assets/number.js'));
    await attempt('state as a script', () => loaded(document.createElement('script'), '/api/state'));
    await attempt('picture', () => loaded(document.createElement('img'), '/api/state'));
    // None of these can be read from here; what counts is that the load goes on.
    await attempt('', async () => { await form('text/plain'); });
    await attempt('', async () => { await form('application/x-www-form-urlencoded'); });
    navigator.sendBeacon(at + '/api/run/stop', new URLSearchParams(stop));
    const frame = document.createElement('iframe');
    await Promise.race([loaded(frame, '/?token=TOKEN'), new Promise((resolve) => setTimeout(resolve, 3000))]);
    await attempt('frame', () => frame.contentDocument?.title);
    frame.name = 'inner';
    const sent = document.createElement('form');
    Object.assign(sent, { method: 'post', action: at + '/api/run/stop', target: 'inner' });
    sent.innerHTML = '<input name=control value=CONTROL>';
    document.body.append(sent);
    sent.submit();
    await new Promise((resolve) => setTimeout(resolve, 500));
    return worked.join();
})()";

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_a_page_of_another_port_reads_and_stops_nothing_even_with_both_tokens() {
    let (_home, server, running, page, control) = load();
    let mut browser = Browser::start();
    // The cookie is set, and a browser sends it to every port of this machine.
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.sees("live");
    browser.open(&server.url("/"));
    browser.sees("hello");
    let tries = TRIES
        .replace("ADDRESS", &page.address.to_string())
        .replace("CONTROL", &control)
        .replace("TOKEN", &page.token);
    assert_eq!(browser.read(&tries), "", "nothing of it works");
    goes_on(&page);
    running.send(Signal::INT);
    running.finish();
}

/// Every text in which a token could have been left: files as they are, records unpacked, and all forms of results.
fn left_behind(home: &Home) -> Vec<(String, Vec<u8>)> {
    let is_kept = |path: &PathBuf| path.extension().is_some_and(|end| end == "knee" || end == "result");
    let mut found = Vec::new();
    for path in home.files().into_iter().filter(is_kept) {
        for format in ["text", "json", "html", "csv", "md"] {
            let shown = home.knee("report").arg(&path).args("--format").arg(format).run();
            found.push((
                format!("{} as {format}", path.display()),
                (shown.stdout + &shown.stderr).into_bytes(),
            ));
        }
        if path.extension().is_some_and(|end| end == "knee") {
            let run = read(&*fs::read(&path).unwrap()).unwrap().run;
            found.push((format!("{} unpacked", path.display()), format!("{run:?}").into_bytes()));
        }
    }
    found.extend(home.files().into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())));
    found
}

#[test]
fn no_token_is_in_a_saved_result_in_the_report_of_the_page_or_on_the_way_to_the_service() {
    let (home, server) = (Home::new(), Server::start());
    study(&home, "two of a kind");
    let url = server.url("/");
    for line in [
        format!("-q 50 -z 2s -c 2 --web --web-control {url}"),
        format!("sweep --rates 50,100 --step 1s --web --web-control {url}"),
        format!("compare {url} --blocks 2 --metric goodput -z 1s -c 2 --web --web-control {url}"),
        "study --blocks 1 --web --web-control study".to_owned(),
    ] {
        let (line, last) = line.rsplit_once(' ').unwrap();
        let (running, page, control) = controlled(&home, line, last);
        // A watcher on whose behalf the page makes what it can download.
        let events = page.watch();
        let finished = running.finish();
        let (_, end) = events.last().unwrap();
        assert!(end["report"].as_str().is_some_and(|report| report.len() > 10_000), "{line}: no report");
        let mut texts = left_behind(&home);
        assert!(texts.len() > 6, "{line}");
        texts.push(("stdout".to_owned(), finished.stdout.into_bytes()));
        texts.extend(events.iter().map(|(name, state)| (name.clone(), state.to_string().into_bytes())));
        texts.push(("the service".to_owned(), format!("{:?}", server.seen()).into_bytes()));
        for (place, bytes) in texts {
            for token in [&page.token, &control] {
                assert!(!contains(&bytes, token.as_bytes()), "{line}: a token is in {place}");
            }
        }
    }
}

#[test]
fn no_token_is_in_what_knee_serve_shows_or_leaves() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 40 -c 2").arg(server.url("/")).run();
    fs::create_dir(home.path("scripts")).unwrap();
    let folder = home.path("scripts").display().to_string();
    let (running, page, control) = controlled(&home, "serve --control --folder", &folder);
    let list = page.answer(&page.request("/", ""));
    let result = list.split("href=\"/result/").nth(1).unwrap().split('"').next().unwrap();
    for target in ["/", "/history.json", "/?q=a", &format!("/result/{result}"), "/compare?run=a", "/nothing"]
    {
        let answer = page.answer(&page.request(target, ""));
        let (head, shown) = answer.split_once("\r\n\r\n").unwrap();
        assert!(!shown.contains(&page.token) && !shown.contains(&control), "{target}: {shown}");
        assert!(
            !head.contains(&control) && head.contains("referrer-policy: no-referrer"),
            "{target}: {head}"
        );
        assert!(!head.contains(&page.token) || target.starts_with("/?") || target == "/", "{target}: {head}");
    }
    for (place, bytes) in left_behind(&home) {
        let found = [&page.token, &control].iter().any(|token| contains(&bytes, token.as_bytes()));
        assert!(!found, "a token is in {place}");
    }
    running.send(Signal::INT);
    running.finish();
}

/// Names of loads that try to be a path, a header, a mark-up, a formula.
const NAMES: [&str; 7] = [
    "../../escaped",
    "/etc/knee",
    "a\r\nset-cookie: stolen=1",
    "\"><script>alert(1)</script>",
    "=HYPERLINK(\"http://evil.test/\")",
    "..",
    "%2e%2e%2fescaped",
];

#[test]
fn a_hostile_name_of_a_load_makes_a_harmless_name_of_a_file() {
    let (home, server) = (Home::new(), Server::start());
    for name in NAMES {
        home.knee("-n 20 -c 2 --name").arg(name).arg(server.url("/")).run();
    }
    let runs = home.path("runs");
    let saved: Vec<PathBuf> =
        home.files().into_iter().filter(|path| path.ends_with("knee") || path.starts_with(&runs)).collect();
    assert_eq!(saved.len(), NAMES.len(), "{saved:?}");
    for path in saved {
        assert_eq!(path.parent().unwrap(), runs, "{path:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        assert!(name.chars().all(is_plain) && !name.contains(".."), "{name}");
    }
}

#[test]
fn a_record_with_a_hostile_name_is_one_link_and_adds_no_header_and_no_element() {
    let (home, server) = (Home::new(), Server::start());
    home.knee("-n 20 -c 2 --record plain.knee").arg(server.url("/")).run();
    let record = fs::read(home.path("plain.knee")).unwrap();
    let names = NAMES.map(|name| name.replace('/', "\u{2215}")).into_iter().filter(|name| name != "..");
    let names: Vec<String> = names.collect();
    for name in &names {
        home.file(&format!("runs/{name}.knee"), &record);
    }
    let (running, page) = {
        let mut running = home.knee("serve").start();
        let page = Page::of(&running.wait_for("page: http://"));
        (running, page)
    };
    let list = page.answer(&page.request("/", ""));
    assert_eq!(results(&page), names.len(), "{list}");
    assert!(list.contains("&lt;script&gt;alert") && !list.contains("<script>"), "{list}");
    let expected: Vec<String> = header_names(&page.answer(&page.request("/nothing", "")));
    for link in list.split("href=\"/result/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(!link.contains(['/', '<', ' ', '\r', '\n']), "one part of a path: {link}");
        let answer = page.answer(&page.request(&format!("/result/{link}"), ""));
        assert_eq!(status(&answer), "200", "{link}: {answer}");
        assert_eq!(header_names(&answer), expected, "{link}");
    }
    for target in ["/result/b%0d%0aset-cookie:%20stolen=1", "/nothing%0d%0aset-cookie:%20stolen=1"] {
        let answer = page.answer(&page.request(target, ""));
        assert_eq!((status(&answer), header_names(&answer)), ("404", expected.clone()), "{answer}");
    }
    running.send(Signal::INT);
    running.finish();
}

/// The names of the headers of an answer, in order.
fn header_names(answer: &str) -> Vec<String> {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    head.lines().skip(1).map(|line| line.split(':').next().unwrap().to_owned()).collect()
}

#[test]
fn what_a_browser_downloads_has_a_name_of_ours_whatever_the_load_is_called() {
    let (home, server) = (Home::new(), Server::start());
    let line = format!("-q 20 -z 1h -c 2 --web --name ={}", "x".repeat(200));
    let (running, page) = started(&home, &line, &server.url("/..%2F..%2Fescaped%0d%0a"));
    for target in ["/", "/api/state", "/assets/page.js"] {
        let answer = page.answer(&page.request(target, "")).to_ascii_lowercase();
        assert!(!answer.contains("content-disposition"), "{target}");
    }
    let shown = page.answer(&page.request("/", ""));
    let names: Vec<&str> =
        shown.split("download=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names, ["knee-report.html"]);
    running.send(Signal::INT);
    running.finish();
}
