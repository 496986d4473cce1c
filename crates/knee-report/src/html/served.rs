//! The parts of pages that only a server on this machine has: links to results, a search, a choice of two runs, a way
//! back.
//!
//! Does not serve and does not look anything up. Forms need no script.

use maud::{DOCTYPE, Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::inline::Inline;
use super::{raw, words};
use crate::history::{Entry, moment};

/// Where the result of a record is.
pub const RESULTS: &str = "/result/";
/// Where two runs are compared.
pub const COMPARISON: &str = "/compare";
/// The parameter that names a run of a comparison, percent-encoded as in a path.
pub const RUN: &str = "run";
/// The parameter of the search.
pub const SEARCH: &str = "q";

/// What a path shows as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The name of a record as paths and choices have it: in plain characters, percent-encoded.
fn encoded(record: &str) -> String {
    utf8_percent_encode(record, PLAIN).to_string()
}

/// The path of the result of a record.
fn path_of(record: &str) -> String {
    format!("{RESULTS}{}", encoded(record))
}

/// The name and the time of an entry as a link, and of a run as a choice too.
pub(super) fn chosen(entry: &Entry) -> Markup {
    let is_run = entry.likeness.is_some();
    let label = format!("Choose {}", words::plain_name(&entry.record));
    let name = if entry.name.is_empty() { &entry.record } else { &entry.name };
    html! {
        @if is_run { input type="checkbox" name=(RUN) value=(encoded(&entry.record)) aria-label=(label); " " }
        a href=(path_of(&entry.record)) title=(words::plain_name(&entry.record)) { (words::name(name)) }
        span.evidence { " " (moment(entry.at)) }
    }
}

/// The form that searches.
pub(super) fn search_form(search: &str) -> Markup {
    html! {
        form.search role="search" method="get" action="/" {
            label for="search" { "A part of a name or of a target" }
            input #search type="search" name=(SEARCH) value=(search) maxlength="200";
            button { "Search" }
            @if !search.is_empty() { " " a href="/" { "Show everything" } }
        }
    }
}

/// The form that compares two runs of a list.
pub(super) fn choice_form(list: &Markup) -> Markup {
    html! {
        form method="get" action=(COMPARISON) {
            p.choice { "Choose two runs and " button { "Compare" } }
            (list)
        }
    }
}

/// A page of a result, with a way back to everything else.
pub fn with_way_back(page: &str) -> String {
    let back = html! { p.back { a href="/" { "← Everything saved" } } }.into_string();
    match page.split_once("<main>") {
        Some((before, after)) => format!("{before}<main>{back}{after}"),
        None => page.to_owned(),
    }
}

/// A page with an error and its hint.
pub fn notice(says: &str, hint: &str) -> String {
    own(
        "knee",
        &html! { header.front { h1.answer { (words::sentence(says)) } p { (words::sentence(hint)) } } },
    )
}

/// A page that only the server has, with a way back.
pub(super) fn own(title: &str, body: &Markup) -> String {
    with_script(title, body, None)
}

/// The same with a script.
pub(super) fn with_script(title: &str, body: &Markup, script: Option<Inline>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Without a referrer browsers send forms with the origin `null`, which is refused. No other site learns it.
                meta name="referrer" content="same-origin";
                title { (title) }
                link rel="icon" href="data:,";
                style { (raw::style()) }
            }
            body { main { (body) } @if let Some(script) = script { (script.element()) } }
        }
    };
    with_way_back(&(page.into_string() + "\n"))
}

/// A page that leads on to `place` by itself, so that a token in the address does not stay there. `script` keeps what
/// stands behind the `#` of the address, which would be lost otherwise.
pub fn arrival(place: &str, script: Option<Inline>) -> String {
    let on = html! { meta http-equiv="refresh" content=(format!("0; url={place}")); };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                @if script.is_some() { noscript { (on) } } @else { (on) }
                title { "knee" }
                // Else browsers ask for an icon, which the content policy of the page forbids.
                link rel="icon" href="data:,";
            }
            body {
                main { p { a href=(place) data-next[script.is_some()] { "Continue" } } }
                @if let Some(script) = script { (script.element()) }
            }
        }
    };
    page.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_a_path_of_one_part_whatever_its_name_is() {
        assert_eq!(path_of("20261121T101530.123Z-a"), "/result/20261121T101530.123Z-a");
        assert_eq!(path_of("../a b?c#\u{e9}"), "/result/..%2Fa%20b%3Fc%23%C3%A9");
    }

    #[test]
    fn the_way_back_is_the_first_thing_of_a_page() {
        let page = with_way_back("<body><main><h1>a</h1></main></body>");
        assert!(page.starts_with("<body><main><p class=\"back\"><a href=\"/\">"), "{page}");
        assert_eq!(with_way_back("no page"), "no page");
    }

    #[test]
    fn a_notice_shows_names_as_text() {
        let page = notice("nothing is called <b>", "look at the list");
        assert!(page.contains("&lt;b&gt;") && page.contains("href=\"/\""), "{page}");
    }
}
