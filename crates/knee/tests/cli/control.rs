//! What the owner of the second URL can do, and no other: stop a load, change its rate, start one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::program::{Home, Running};
use crate::server::Server;
use crate::web::{Page, started};

/// Longest that a test waits for what must happen.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts `knee` with a page that can be controlled. Returns the token for that too.
pub fn controlled(home: &Home, line: &str, url: &str) -> (Running, Page, String) {
    let mut running = home.knee(line).arg(url).start();
    let line = running.wait_for("page that can");
    let control = line.split("control=").nth(1).unwrap().to_owned();
    let page = line.split_once(": ").unwrap().1.split(['#', '&']).next().unwrap().to_owned();
    (running, Page::of(&format!("page: {page}")), control)
}

/// Waits until a second of the run is over.
pub fn begun(page: &Page) {
    wait_until("the run begins", || {
        page.state()["run"]["moments"]["rows"].as_array().is_some_and(|rows| !rows.is_empty())
    });
}

#[expect(clippy::disallowed_methods, reason = "a limit of this test")]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < LIMIT, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

pub fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn the_owner_of_the_second_url_changes_the_rate_and_stops_the_load() {
    let (home, server) = (Home::new(), Server::start());
    let line = "-q 20 -z 1h -c 4 --web --web-control --steer-max 100";
    let (running, page, control) = controlled(&home, line, &server.url("/"));
    begun(&page);
    let steer = |rate: &str| {
        let fields = format!("control={control}&rate={rate}&over_s=0");
        body(&page.answer(&page.form("/api/run/steer", &fields)))
    };
    assert_eq!(
        steer("101"),
        json!({ "done": false, "says": "the most that was allowed is 100 requests per second" })
    );
    let changed = steer("80");
    assert_eq!(changed["done"], true, "{changed}");
    let change = page.state()["steering"]["changes"][0].clone();
    assert_eq!((&change["from_per_s"], &change["to_per_s"]), (&json!(20.0), &json!(80.0)));
    let at = change["at_s"].as_f64().unwrap();
    wait_until("two seconds of the new rate", || {
        page.state()["run"]["elapsed_s"].as_f64().unwrap() > at + 2.5
    });
    let stopped = body(&page.answer(&page.form("/api/run/stop", &format!("control={control}"))));
    assert_eq!(stopped["done"], true);
    let finished = running.finish();
    let run = finished.ended_as_it_says(&home);
    assert_eq!((&run["ending"], &run["changes_of_rate"]), (&json!("interrupted"), &json!([change])));
    assert!(
        run["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note == "the rate was changed by hand once [steered]")
    );
    let columns = run["series"].as_array().unwrap();
    // On a busy machine an interval is longer or shorter than a second.
    let number = |row: &Value, name: &str| row[name].as_f64();
    let keeps = |row: &&Value, rate: f64| {
        let planned = number(row, "planned").or_else(|| number(row, "scheduled")).unwrap();
        let seconds = number(row, "to_s").unwrap() - number(row, "from_s").unwrap();
        (planned - rate * seconds).abs() <= 1.0
    };
    let before = columns.iter().rfind(|row| number(row, "to_s").unwrap() <= at).unwrap();
    let after = columns.iter().find(|row| number(row, "from_s").unwrap() >= at).unwrap();
    assert!(keeps(&before, 20.0) && keeps(&after, 80.0), "{columns:?}");
    assert!(finished.stdout.contains("steered by hand to 80/s from"), "{}", finished.stdout);
    for path in home.files() {
        let bytes = std::fs::read(path).unwrap();
        assert!(
            !bytes.windows(control.len()).any(|window| window == control.as_bytes()),
            "the token is saved"
        );
    }
}

#[test]
fn without_the_second_token_or_from_another_site_nothing_is_controlled() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) =
        controlled(&home, "-q 20 -z 1h -c 4 --web --web-control", &server.url("/"));
    begun(&page);
    let right = format!("control={control}");
    let form = |fields: &str| page.form("/api/run/stop", fields);
    let with = |header: &str| form(&right).replacen("\r\n", &format!("\r\n{header}\r\n"), 1);
    let viewer = format!("control={}", page.token);
    let length =
        |text: String| text.replace(&format!("content-length: {}", right.len()), "content-length: 20000");
    for (request, expected) in [
        (form(""), "403"),
        (form("control="), "403"),
        (form(&viewer), "403"),
        (form(&right).replace(&format!("={}\r\n", page.token), "=0\r\n"), "403"),
        (with("origin: http://evil.test"), "403"),
        (with("origin: null"), "403"),
        (with("sec-fetch-site: cross-site"), "403"),
        (form(&right).replace(&format!("host: {}", page.address), "host: evil.test"), "421"),
        (page.request(&format!("/api/run/stop?{right}"), ""), "404"),
        (form(&right).replacen("POST", "PUT", 1), "400"),
        (form(&right).replace("application/x-www-form-urlencoded", "text/plain"), "400"),
        (form(&right).replace("application/x-www-form-urlencoded", "application/json"), "400"),
        (page.form("/api/state", &right), "405"),
        (page.form("/", &right), "405"),
        (length(form(&right)), "413"),
        (form(&right).replacen("content-length", "transfer-encoding: chunked\r\ncontent-length", 1), "400"),
        (form(&format!("{right}\r\nGET / HTTP/1.1")), "403"),
    ] {
        let answer = page.answer(&request);
        assert_eq!(status(&answer), expected, "{request}\n{answer}");
    }
    assert_eq!(page.state()["run"]["phase"], "loading");
    let guesses: Vec<String> = (0..40).map(|_| page.answer(&form("control=0"))).collect();
    assert!(guesses.iter().any(|answer| status(answer) == "429"), "guessing is limited");
    running.send(Signal::INT);
    running.finish();
}

#[test]
fn a_page_that_was_opened_to_read_takes_no_form() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = started(&home, "-q 20 -z 1h -c 4 --web", &server.url("/"));
    for fields in ["control=", &format!("control={}", page.token)] {
        for target in ["/api/run/stop", "/api/run/steer"] {
            assert_eq!(status(&page.answer(&page.form(target, fields))), "405");
        }
    }
    assert_eq!(page.state()["steering"], Value::Null);
    running.send(Signal::INT);
    running.finish();
}

#[test]
fn what_compares_loads_is_stopped_and_never_steered() {
    let (home, server) = (Home::new(), Server::start());
    let line = "sweep --web --web-control --rates 20,40 --step 30s";
    let (running, page, control) = controlled(&home, line, &server.url("/"));
    begun(&page);
    let steered =
        body(&page.answer(&page.form("/api/run/steer", &format!("control={control}&rate=1&over_s=0"))));
    assert_eq!(steered, json!({ "done": false, "says": "the rate of this load cannot be changed" }));
    page.answer(&page.form("/api/run/stop", &format!("control={control}")));
    assert_eq!(running.finish().code, Some(105), "as after Ctrl-C");
}

#[test]
fn a_ceiling_above_the_limit_for_public_hosts_is_refused_before_any_load() {
    let home = Home::new();
    // Reserved for documentation (RFC 5737): nothing is there, and nothing is sent.
    let refused = home.knee("-q 5 -c 2 -z 1s --web --web-control --steer-max 100000 http://192.0.2.1/").run();
    assert!(refused.stderr.contains("this load is above the limit for a public host"), "{}", refused.stderr);
    home.knee("-q 5 --web --steer-max 10 http://127.0.0.1:1/")
        .run()
        .refused("`--web-control` is missing", "see `knee --help-all`");
}

#[test]
fn a_highest_rate_for_what_is_never_steered_is_refused_before_any_load() {
    let home = Home::new();
    let flags = "--web --web-control --steer-max 10";
    let closed = home.knee(&format!("-c 5 {flags} http://127.0.0.1:1/")).run();
    assert_eq!(closed.code, Some(104));
    assert!(closed.stderr.contains("`--steer-max` has no effect: this load has no planned rate"));
    home.knee(&format!("sweep --rates 20,40 {flags} http://127.0.0.1:1/")).run().refused(
        "`--steer-max` has no effect on `knee sweep`: its loads are compared, so they stay as planned",
        "leave it out; `--web-control` alone can stop the command",
    );
}

/// `knee serve` that can start loads of a folder with one script.
fn library(home: &Home, server: &Server) -> (Running, Page, String) {
    let folder = home.path("scripts");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "import http from 'k6/http'; export const options = {{ vus: 1, iterations: 5 }};
         export default function () {{ http.get('{}'); }}",
        server.url("/")
    );
    std::fs::write(folder.join("checkout.js"), text).unwrap();
    controlled(home, "serve --control --folder", &folder.display().to_string())
}

/// The number of results in the list.
pub fn results(page: &Page) -> usize {
    page.answer(&page.request("/", "")).matches("href=\"/result/").count()
}

#[test]
fn a_load_of_a_url_and_a_script_are_started_shown_and_saved_one_at_a_time() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) = library(&home, &server);
    let forms = page.answer(&page.request("/start", ""));
    assert!(forms.contains("checkout.js") && forms.contains("Nothing is running"), "{forms}");
    let url: String = form_urlencoded(&server.url("/"));
    let fields = format!("control={control}&kind=url&url={url}&rate=20&connections=2&duration=4s");
    let shown = page.answer(&page.form("/start", &fields));
    assert!(
        shown.contains("Start this load?") && shown.contains("open, 20.0/s over 2 connections"),
        "{shown}"
    );
    assert_eq!(server.count(), 0, "nothing is sent before it was confirmed");
    let begun = page.answer(&page.form("/start/confirmed", &fields));
    assert!(begun.contains("The load has started") && begun.contains("#control="), "{begun}");
    let second = page.answer(&page.form("/start/confirmed", &fields));
    assert_eq!(status(&second), "409");
    assert!(second.contains("a load is running"), "{second}");
    wait_until("the result is saved", || results(&page) == 1);
    let script = form_urlencoded(
        &home.path("scripts").canonicalize().unwrap().join("checkout.js").display().to_string(),
    );
    let fields = format!("control={control}&kind=script&script={script}");
    wait_until("the script is started", || {
        status(&page.answer(&page.form("/start/confirmed", &fields))) == "200"
    });
    wait_until("its result is saved", || results(&page) == 2);
    running.send(Signal::INT);
    assert_eq!(running.finish().code, Some(0));
}

#[test]
fn what_was_not_offered_what_is_no_load_and_what_is_too_much_is_not_started() {
    let (home, server) = (Home::new(), Server::start());
    let secret = home.file("secret.js", "export default function () {}");
    let (running, page, control) = library(&home, &server);
    for (fields, says) in [
        (format!("kind=script&script={}", secret.display()), "not among the scripts"),
        ("kind=script&script=..%2Fsecret.js".to_owned(), "not among the scripts"),
        ("kind=study&study=%2F".to_owned(), "not among the scripts"),
        (
            "kind=url&url=http%3A%2F%2F192.0.2.1%2F&rate=100000&duration=1s".to_owned(),
            "the limit for a public host",
        ),
        (format!("kind=url&url={}&rate=NaN&duration=1s", form_urlencoded(&server.url("/"))), "is not a rate"),
        (format!("kind=url&url={}&rate=-1&duration=1s", form_urlencoded(&server.url("/"))), "is not a rate"),
        ("kind=url&url=file%3A%2F%2F%2Fetc%2Fpasswd&duration=1s".to_owned(), "no URL of a service"),
        ("kind=url&url=--help&duration=1s".to_owned(), "no URL of a service"),
    ] {
        for target in ["/start", "/start/confirmed"] {
            let answer = page.answer(&page.form(target, &format!("control={control}&{fields}")));
            assert_eq!(status(&answer), "409", "{fields}: {answer}");
            assert!(answer.contains(says), "{fields}: {answer}");
        }
    }
    for (request, expected) in [
        (page.form("/start/confirmed", "kind=url"), "403"),
        (page.form("/start/confirmed", &format!("control={}&kind=url", page.token)), "403"),
        (page.form("/history.json", &format!("control={control}")), "405"),
    ] {
        assert_eq!(status(&page.answer(&request)), expected, "{request}");
    }
    assert_eq!(server.count(), 0);
    running.send(Signal::INT);
    running.finish();
}

#[test]
fn the_end_of_the_server_ends_the_load_that_it_started() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) = library(&home, &server);
    let fields =
        format!("control={control}&kind=url&url={}&rate=20&duration=1h", form_urlencoded(&server.url("/")));
    assert_eq!(status(&page.answer(&page.form("/start/confirmed", &fields))), "200");
    server.wait_for(5);
    running.send(Signal::INT);
    let finished = running.finish();
    assert!(finished.stderr.contains("stopping the load in progress: http://"), "{}", finished.stderr);
    let saved = home.knee("report last --output-format json").run();
    let run: Value = serde_json::from_str(&saved.stdout).unwrap();
    assert_eq!(run["ending"], "interrupted", "it ended as after Ctrl-C, with its result");
}

/// Whether the result of the only load is saved and says that it was interrupted.
fn is_saved_as_interrupted(home: &Home) -> bool {
    let saved = home.knee("report last --output-format json").run();
    let run = serde_json::from_str::<Value>(&saved.stdout);
    run.is_ok_and(|run| run["ending"] == "interrupted")
}

#[test]
fn a_load_does_not_outlive_the_server_that_started_it_even_if_that_is_killed() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) = library(&home, &server);
    let fields =
        format!("control={control}&kind=url&url={}&rate=20&duration=1h", form_urlencoded(&server.url("/")));
    assert_eq!(status(&page.answer(&page.form("/start/confirmed", &fields))), "200");
    server.wait_for(5);
    running.send(Signal::KILL);
    running.finish();
    wait_until("it ends as after Ctrl-C, with its result", || is_saved_as_interrupted(&home));
}

/// The path of a script in the folder of [`library`], as a page sends it back.
fn script(home: &Home, name: &str, text: &str) -> String {
    let path = home.path("scripts").canonicalize().unwrap().join(name);
    std::fs::write(&path, text).unwrap();
    form_urlencoded(&path.display().to_string())
}

#[test]
fn a_script_that_fails_at_once_is_not_said_to_have_started_and_one_that_fails_later_says_how() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) = library(&home, &server);
    let broken = script(&home, "broken.js", "export default function ( {");
    let answer = page
        .answer(&page.form("/start/confirmed", &format!("control={control}&kind=script&script={broken}")));
    assert_eq!(status(&answer), "409", "{answer}");
    assert!(answer.contains("the load did not start: error: "), "{answer}");
    let late =
        "import { sleep } from 'k6'; export const options = { thresholds: { iterations: ['count > 5'] } };
                export default function () { sleep(2); }";
    let late = script(&home, "late.js", late);
    let answer =
        page.answer(&page.form("/start/confirmed", &format!("control={control}&kind=script&script={late}")));
    assert!(answer.contains("The load has started"), "{answer}");
    let forms = page.request("/start", "");
    wait_until("the page with the forms says how it ended", || {
        page.answer(&forms).contains("has ended with exit code 99")
    });
    assert!(page.answer(&forms).contains("Nothing is running. The last load, "));
    running.send(Signal::INT);
    running.finish();
}

#[test]
fn the_end_of_the_server_waits_for_teardown_until_it_is_interrupted_again() {
    let (home, server) = (Home::new(), Server::start());
    let (mut running, page, control) = library(&home, &server);
    let text = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6';
         export const options = {{ vus: 1, duration: '1h', teardownTimeout: '1h' }};
         export default function () {{ http.get('{}'); sleep(0.1); }}
         export function teardown() {{ http.get('{}'); sleep(3600); }}",
        server.url("/"),
        server.url("/last")
    );
    let path = script(&home, "slow-end.js", &text);
    let fields = format!("control={control}&kind=script&script={path}");
    assert_eq!(status(&page.answer(&page.form("/start/confirmed", &fields))), "200");
    server.wait_for(3);
    running.send(Signal::INT);
    running.wait_for("stopping the load in progress: ");
    assert!(!running.ends_within(Duration::from_secs(1)), "teardown is waited for");
    running.send(Signal::INT);
    let finished = running.finish();
    assert!(finished.stderr.contains("interrupted again"), "{}", finished.stderr);
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_a_load_is_started_steered_stopped_and_found_again() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page, control) = library(&home, &server);
    let mut browser = Browser::start();
    browser.open(&format!("http://{}/?token={}&to=start#control={control}", page.address, page.token));
    browser.sees("Nothing is running.");
    let address = browser.read("location.href");
    assert_eq!(address, format!("http://{}/start", page.address), "no token stays in the address");
    browser.fill("#url-url", &server.url("/"));
    browser.fill("#url-rate", "40");
    browser.fill("#url-duration", "1h");
    browser.press("form:has(#url-url) button");
    browser.sees("Start this load?");
    browser.sees("open, 40.0/s");
    assert_eq!(server.count(), 0, "nothing is sent before the confirmation");
    browser.press("form button");
    browser.sees("The load has started");
    server.wait_for(5);
    assert_eq!(results(&page), 0, "a load in progress is no result");
    browser.press("a[href*='#control=']");
    browser.sees("open, 40.0/s");
    browser.sees("Rate, requests/s");
    browser.fill("#wanted", "10");
    browser.press("#steer button");
    browser.sees("steered to 10.0/s");
    // The change begins within two seconds of the planned rate.
    server.wait_for(server.count() + 80);
    browser.press("#stop");
    browser.sees("run ended");
    wait_until("its result is saved", || results(&page) == 1);
    browser.open(&format!("http://{}/", page.address));
    browser.sees("60.0 min, steered");
    running.send(Signal::INT);
    running.finish();
}

pub fn form_urlencoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
