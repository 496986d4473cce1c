//! Names that a script, a study or a URL chose, on the pages of a real process: they are text there, however long they
//! are, and lead nowhere.
//!
//! What single functions make of such names is tested beside them; what a terminal shows is in `hostile_text`.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::live_series::study;
use crate::program::{Home, Running};
use crate::server::Server;
use crate::web::{Page, started};

/// Leaves a mark on the page if it is run.
const SCRIPT: &str = "</title></script><script>document.body.dataset.owned = 1</script>";
const PICTURE: &str = "<img src=x onerror=document.body.dataset.owned=1>";

/// Names of endpoints.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        SCRIPT,
        PICTURE,
        "javascript:document.body.dataset.owned=1",
        "http://evil.test/",
        "data:text/html,<script>alert(1)</script>",
        "__proto__",
        "constructor",
        "toString",
        "a\u{2028}b\u{202e}gpj\u{0}",
        "=HYPERLINK(\"http://evil.test/\")",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("x".repeat(10_000));
    names
}

/// A script that has an endpoint of each name and runs for `duration`, with its page.
fn script(home: &Home, server: &Server, duration: &str) -> (Running, Page) {
    let text = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6';
         export const options = {{ vus: 1, duration: '{duration}' }};
         const names = {};
         export default function () {{
            names.forEach((name) => http.get('{}', {{ tags: {{ name }} }}));
            sleep(0.1);
         }}",
        json!(names()),
        server.url("/")
    );
    let script = home.file("script.js", text);
    started(home, "run --web", &script.display().to_string())
}

/// Elements that a name could have become, on any page.
const ADDED: &str = "document.querySelectorAll('img, iframe, object, embed, base, title ~ title, [onerror], [onload], \
                     [onclick]').length";
/// Addresses of links that are not of the page.
const LINKS: &str = "[...document.querySelectorAll('[href], [src], [action]')]
    .flatMap((one) => ['href', 'src', 'action'].map((name) => one.getAttribute(name)))
    .filter((link) => link !== null && !/^(#|[/](?![/])|data:,|blob:)/.test(link)).join()";

fn assert_harmless(browser: &mut Browser, what: &str) {
    assert_eq!(browser.read("document.body.dataset.owned ?? null"), Value::Null, "{what}: a name was run");
    assert_eq!(browser.read(ADDED), 0, "{what}: a name became an element");
    assert_eq!(browser.read(LINKS), "", "{what}: a name became a link");
    assert_eq!(browser.read("Object.keys(Object.prototype).length"), 0, "{what}");
    let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.read(wide), 0, "{what}: the page is wider than the window");
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_hostile_and_long_names_of_endpoints_are_rows_of_text() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = script(&home, &server, "1h");
    let mut browser = Browser::start();
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.finds(&format!("document.querySelectorAll('#endpoints tr').length === {}", names().len()));
    assert_harmless(&mut browser, "the live page");
    let shown =
        browser.read("[...document.querySelectorAll('#endpoints th')].map((cell) => cell.textContent)");
    let shown: Vec<&str> = shown.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in [SCRIPT, PICTURE, "__proto__", "constructor", "toString", &"x".repeat(10_000)] {
        assert!(shown.contains(&name), "{name} in {shown:?}");
    }
    assert!(shown.contains(&"a\\u{2028}b\\u{202e}gpj\\x00"), "{shown:?}");
    running.send(Signal::INT);
    running.finish();

    assert_served_harmless(&home, &mut browser, "__proto__");
}

/// The list of `knee serve` and its newest result, on which `name` can be read, do nothing but show it.
fn assert_served_harmless(home: &Home, browser: &mut Browser, name: &str) {
    let mut running = home.knee("serve").start();
    let page = Page::of(&running.wait_for("page: http://"));
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.finds("document.querySelectorAll('a[href^=\"/result/\"]').length > 0");
    assert_harmless(browser, "the list");
    browser.press("a[href^='/result/']");
    browser.sees(name);
    assert_harmless(browser, "the result");
    running.send(Signal::INT);
    running.finish();
}

/// The addresses of all links in a page: in what stands between `<` and `>`, which no escaped name does.
fn links(page: &str) -> Vec<&str> {
    let attributes = [" href=", " src=", " action=", " formaction=", " xlink:href="];
    let tags = page.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0));
    let after = tags.flat_map(|tag| attributes.iter().filter_map(move |name| Some(tag.split_once(name)?.1)));
    after.map(|rest| rest.trim_start_matches('"').split(['"', ' ']).next().unwrap()).collect()
}

#[test]
fn a_name_that_is_an_address_of_a_script_is_no_link_in_a_report() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) = script(&home, &server, "2s");
    let events = page.watch();
    running.finish();
    let (_, last) = events.last().unwrap();
    let saved = home.knee("report last --format html").run().stdout;
    for report in [last["report"].as_str().unwrap(), &saved] {
        // What is only shown is escaped; what is carried as data is no mark-up.
        let shown: String =
            report.split("<script").map(|part| part.rsplit("</script>").next().unwrap()).collect();
        assert!(shown.contains("javascript:document"), "the name is shown");
        let links = links(&shown);
        assert!(links.len() > 3, "{links:?}");
        let foreign: Vec<_> =
            links.iter().filter(|link| !link.starts_with('#') && **link != "data:,").collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
    let state = last["run"]["endpoints"].as_array().unwrap();
    assert_eq!(state.len(), names().len(), "each name is one endpoint");
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_the_title_of_a_study_is_text_live_in_the_report_and_in_the_list() {
    let home = Home::new();
    let title = format!("{SCRIPT}{PICTURE}{}", "t".repeat(10_000));
    study(&home, &title);
    // Before the study, which can be over before a browser that is slow to start asks for its page.
    let mut browser = Browser::start();
    let mut running = home.knee("study --web --blocks 1 study").start();
    let page = Page::of(&running.wait_for("page: http://"));
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.sees("run ended");
    assert_harmless(&mut browser, "the live page");
    running.finish();
    let report = home.knee("report last --format html -o report.html").run();
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    browser.open(&format!("file://{}", home.path("report.html").display()));
    browser.sees("<img src=x onerror=");
    assert_harmless(&mut browser, "the report");

    assert_served_harmless(&home, &mut browser, "<img src=x onerror=");
}

#[test]
fn the_title_of_a_study_adds_no_element_to_any_page_or_document() {
    let pages = |title: &str| {
        let home = Home::new();
        study(&home, title);
        let mut running = home.knee("study --web --blocks 1 study").start();
        let page = Page::of(&running.wait_for("page: http://"));
        let events = page.watch();
        running.finish();
        let report = events.last().unwrap().1["report"].as_str().unwrap().to_owned();
        let saved = home.knee("report last --format html").run().stdout;
        let mut running = home.knee("serve").start();
        let page = Page::of(&running.wait_for("page: http://"));
        let list = page.answer(&page.request("/", ""));
        let result = list.split("href=\"").find(|link| link.starts_with("/result/")).unwrap();
        let result = page.answer(&page.request(result.split('"').next().unwrap(), ""));
        running.send(Signal::INT);
        running.finish();
        let elements = ["<script", "<img", "<title"];
        [report, saved, list, result].map(|text| elements.map(|what| text.matches(what).count()))
    };
    assert_eq!(pages(&format!("{SCRIPT}{PICTURE}")), pages("plain"));
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn in_a_browser_a_title_of_10_kb_does_not_break_the_page() {
    let (home, server) = (Home::new(), Server::start());
    let (running, page) =
        started(&home, "-q 20 -z 1h -c 2 --web", &server.url(&format!("/{}", "y".repeat(10_000))));
    let mut browser = Browser::start();
    browser.open(&format!("http://{}/?token={}", page.address, page.token));
    browser.sees("yyyy");
    assert_harmless(&mut browser, "the live page");
    browser.finds("document.getElementById('goodput').getBoundingClientRect().width > 0");
    running.send(Signal::INT);
    running.finish();
}
