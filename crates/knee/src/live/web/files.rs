//! The files of the live page, and its data.
//!
//! All files are part of the program. Does not decide whether a request is answered, and does not stream events.

use crate::web::answer::{CSS, HTML, JSON, SCRIPT};
use crate::web::{Answer, Pass, Refusal, Request};

/// The files of the page: path, type, content.
const FILES: [(&str, &str, &str); 6] = [
    ("/", HTML, include_str!("page.html")),
    ("/assets/page.css", CSS, include_str!("page.css")),
    ("/assets/page.js", SCRIPT, include_str!("page.js")),
    ("/assets/chart.js", SCRIPT, include_str!("chart.js")),
    ("/assets/number.js", SCRIPT, include_str!("number.js")),
    ("/assets/observed.js", SCRIPT, include_str!("observed.js")),
];

/// The response to an admitted request. `state` makes the data.
pub fn answer(request: &Request, pass: &Pass, state: impl FnOnce() -> String) -> Answer {
    if request.path == "/api/state" {
        return Answer::ok(JSON, state());
    }
    if request.path == "/api/events" {
        return Answer::ok(super::stream::KIND, "");
    }
    let Some((_, kind, content)) = FILES.iter().find(|(path, ..)| *path == request.path) else {
        return Answer::refusal(Refusal::Path);
    };
    let answer = Answer::ok(kind, *content);
    if request.path == "/" { answer.with(&pass.cookie()) } else { answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::answer::assert_protected;
    use crate::web::request_of;

    fn answered(target: &str) -> String {
        let request = request_of(&format!("GET {target} HTTP/1.1\nHost: a")).unwrap().unwrap();
        let mut bytes = Vec::new();
        let answer = answer(&request, &Pass::of_no_page(), || "{}".to_owned());
        answer.write(&mut bytes, false).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn paths_are_looked_up_and_never_joined() {
        for target in ["/assets/", "/assets/../page.js", "/assets/%2e%2e/page.js", "//", "/api", "/page.html"]
        {
            assert!(answered(target).starts_with("HTTP/1.1 404 "), "{target}");
        }
        for (target, ..) in FILES {
            assert!(answered(target).starts_with("HTTP/1.1 200 "), "{target}");
        }
    }

    #[test]
    fn the_page_has_no_script_style_or_address_but_its_own() {
        let page = FILES[0].2;
        for inline in ["<style", "style=", "javascript:", "http://", "https://", " onload=", " onclick="] {
            assert!(!page.contains(inline), "{inline}");
        }
        for (_, _, script) in &FILES[2..] {
            for sink in
                ["innerHTML", "outerHTML", "insertAdjacent", "eval(", "document.write", "new Function"]
            {
                assert!(!script.contains(sink), "{sink}");
            }
        }
    }

    #[test]
    fn every_response_is_protected_and_only_the_page_sets_the_cookie() {
        for target in
            FILES.map(|(path, ..)| path).into_iter().chain(["/api/state", "/api/events", "/nothing"])
        {
            let answer = answered(target);
            assert_protected(&answer);
            assert_eq!(answer.contains("HttpOnly; SameSite=Strict"), target == "/", "{answer}");
        }
    }
}
