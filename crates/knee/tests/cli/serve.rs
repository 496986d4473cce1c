//! `knee serve` as a browser meets it: the list, the results, two runs beside each other, and what is refused.

use rustix::process::Signal;

use crate::program::{Home, Running};
use crate::server::Server;
use crate::web::Page;

/// A load that is short, and long enough for a few intervals.
const LOAD: &str = "-n 60 -c 2 --name";

/// A home with runs of these names, oldest first, and its pages.
fn served(names: &[&str]) -> (Home, Running, Page) {
    let (home, server) = (Home::new(), Server::start());
    for name in names {
        home.knee(LOAD).arg(name).arg(server.url("/")).run();
    }
    let mut running = home.knee("serve").start();
    let page = Page::of(&running.wait_for("page: http://"));
    (home, running, page)
}

/// The page at a target, which must be there.
fn page_at(page: &Page, target: &str) -> String {
    let answer = page.answer(&page.request(target, ""));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{target}: {head}");
    body.to_owned()
}

/// The paths of the results in a list.
fn results(list: &str) -> Vec<String> {
    let links = list.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| link.starts_with("/result/")).map(str::to_owned).collect()
}

fn record_of(path: &str) -> &str {
    path.trim_start_matches("/result/")
}

#[test]
fn the_list_leads_to_every_result_as_knee_report_shows_it() {
    let (home, running, page) = served(&["checkout", "search"]);
    let list = page_at(&page, "/");
    let results = results(&list);
    assert_eq!(results.len(), 2, "{list}");
    assert!(
        results[0].ends_with("-search") && results[1].ends_with("-checkout"),
        "newest first: {results:?}"
    );
    for path in &results {
        let shown = page_at(&page, path);
        let reported = home.knee("report --format html").arg(record_of(path)).run().stdout;
        let (before, after) = reported.split_once("<main>").unwrap();
        assert!(
            shown.starts_with(before) && shown.ends_with(after),
            "the page of {path} is that of its record"
        );
        assert!(shown.contains("<main><p class=\"back\"><a href=\"/\">"));
    }
    running.send(Signal::INT);
    assert_eq!(running.finish().code, Some(0), "an interrupt is how it ends");
}

#[test]
fn a_run_that_is_saved_meanwhile_is_in_the_list() {
    let (home, _running, page) = served(&["checkout"]);
    let server = Server::start();
    home.knee(LOAD).arg("later").arg(server.url("/")).run();
    assert!(results(&page_at(&page, "/"))[0].ends_with("-later"));
}

#[test]
fn a_search_keeps_what_is_meant() {
    let (_home, _running, page) = served(&["checkout", "search"]);
    let found = page_at(&page, "/?q=check");
    assert_eq!(results(&found).len(), 1);
    assert!(found.contains("value=\"check\""), "the search stays to be changed");
    assert_eq!(results(&page_at(&page, "/?q=")).len(), 2);
    let nothing = page_at(&page, "/?q=%3Cscript%3E");
    assert!(results(&nothing).is_empty() && !nothing.contains("<script>"), "{nothing}");
}

#[test]
fn two_chosen_runs_are_compared_the_older_one_first() {
    let (_home, _running, page) = served(&["checkout", "checkout"]);
    let results = results(&page_at(&page, "/"));
    let (newer, older) = (record_of(&results[0]), record_of(&results[1]));
    let compared = page_at(&page, &format!("/compare?run={newer}&run={older}"));
    let place = |record: &str| compared.find(record).unwrap_or_else(|| panic!("{record} is not in the page"));
    assert!(place(older) < place(newer));
    for query in ["", "run=a", &format!("run={newer}&run={older}&run={newer}")] {
        let answer = page.answer(&page.request(&format!("/compare?{query}"), ""));
        assert!(answer.contains("a comparison is of two"), "{query}: {answer}");
    }
}

#[test]
fn a_name_is_looked_up_and_never_a_path() {
    let (home, _running, page) = served(&["checkout"]);
    home.file("secret.knee", "not for everyone");
    for name in ["..%2F..%2Fsecret.knee", "../../secret", "last", "%00", "runs.index", "%2Fetc%2Fpasswd", ""]
    {
        let answer = page.answer(&page.request(&format!("/result/{name}"), ""));
        assert!(answer.starts_with("HTTP/1.1 404 "), "{name}: {answer}");
        assert!(!answer.contains("not for everyone"), "{name}");
    }
}

#[test]
fn without_the_token_or_from_another_site_nothing_is_shown() {
    let (_home, _running, page) = served(&["checkout"]);
    let address = page.address;
    let foreign = page.request("/", "origin: http://evil.test\r\n");
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nhost: {address}\r\n\r\n"), "403"),
        (format!("GET /history.json HTTP/1.1\r\nhost: {address}\r\n\r\n"), "403"),
        (foreign, "403"),
        (page.request("/", "").replace("GET", "POST"), "405"),
        (page.request("/", "").replace(&address.to_string(), "evil.test:80"), "421"),
    ] {
        let answer = page.answer(&request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        assert!(!answer.contains("checkout"), "{answer}");
    }
}

#[test]
fn without_saved_runs_the_page_says_so() {
    let (_home, _running, page) = served(&[]);
    assert!(page_at(&page, "/").contains("Nothing is saved."));
}

#[test]
fn an_address_that_cannot_be_served_is_an_error_with_a_hint() {
    let home = Home::new();
    home.knee("serve --listen example.org:80").run().refused(
        "`--listen`: `example.org:80` is not an address",
        "write an address with a port, such as `--listen=127.0.0.1:8089`, or nothing for a free port",
    );
}

#[test]
#[cfg_attr(not(feature = "browser-tests"), ignore = "needs chromium: --features browser-tests")]
fn a_browser_that_opens_the_url_is_at_the_list_and_the_token_is_gone_from_its_address() {
    let (_home, running, page) = served(&["checkout"]);
    let dom = page.in_a_browser();
    assert_eq!(results(&dom).len(), 1, "{dom}");
    assert!(!dom.contains(&page.token), "{dom}");
    running.send(Signal::TERM);
    assert_eq!(running.finish().code, Some(0));
}
