//! The pages on which the owner of the second token starts a load: what can be started, what would be, what was.
//!
//! Forms need no script. Does not start anything, and does not check what was typed.

use maud::{Markup, html};

use super::inline::Inline;
use super::{served, words};

/// Where the form is, and where it is sent.
pub const START: &str = "/start";
/// Where it is sent after its load was shown.
pub const CONFIRMED: &str = "/start/confirmed";

/// The fields of the form.
pub mod field {
    /// What is started: [`URL`], [`SCRIPT`] or [`STUDY`].
    pub const KIND: &str = "kind";
    /// A URL.
    pub const URL: &str = "url";
    /// A script.
    pub const SCRIPT: &str = "script";
    /// A study.
    pub const STUDY: &str = "study";
    /// Requests per second.
    pub const RATE: &str = "rate";
    /// Connections of the load of a URL.
    pub const CONNECTIONS: &str = "connections";
    /// Virtual users of a script.
    pub const VUS: &str = "vus";
    /// How long the load takes.
    pub const DURATION: &str = "duration";
    /// The name that the result is saved under.
    pub const NAME: &str = "name";
    /// Whether a study takes its quick form.
    pub const QUICK: &str = "quick";
}

/// What can be started, by path.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    /// Scripts.
    pub scripts: Vec<String>,
    /// Folders of studies.
    pub studies: Vec<String>,
}

/// What became of the last load.
#[derive(Clone, Debug)]
pub enum State {
    /// None was started.
    Nothing,
    /// One is in progress: in words, and where its live page is, once it is known.
    Running(String, Option<String>),
    /// It has ended.
    Ended(Ended),
}

/// How a load ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What was started.
    pub title: String,
    /// What happened, as the end of a sentence about it.
    pub how: String,
    /// What it said last, unless all went well.
    pub lines: Vec<String>,
}

/// A field with its name, its label, and what it is filled with.
fn text(name: &str, label: &str, value: &str, more: &str) -> Markup {
    html! {
        p.field {
            label for=(format!("{more}-{name}")) { (label) } " "
            input id=(format!("{more}-{name}")) name=(name) value=(value) maxlength="2000" autocomplete="off";
        }
    }
}

fn choice(name: &str, label: &str, of: &[String]) -> Markup {
    html! {
        p.field {
            label for=(name) { (label) } " "
            select id=(name) name=(name) {
                @for path in of {
                    option value=(path) title=(words::plain_name(path)) { (words::plain_name(without_common_folder(path, of))) }
                }
            }
        }
    }
}

/// A path without the folders that all of them lie in.
fn without_common_folder<'p>(path: &'p str, all: &[String]) -> &'p str {
    let is_common = |folder: &&str| all.iter().all(|other| other.starts_with(*folder));
    let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
    let common = folders.take_while(is_common).last().map_or(0, str::len);
    &path[common..]
}

/// A form of one kind. Nothing is started before its answer is confirmed. Who opened the second URL need not type its token.
fn form(kind: &str, title: &str, fields: &Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            form.start method="post" action=(START) {
                input type="hidden" name=(field::KIND) value=(kind);
                (fields)
                p.field.token {
                    label for=(format!("{kind}-control")) { "Token behind `#control=` of the second URL" } " "
                    input id=(format!("{kind}-control")) name="control" maxlength="64" autocomplete="off";
                }
                p { button { "Show what would run" } }
            }
        }
    }
}

/// The load in progress, or how the last one ended.
fn last(state: &State) -> Markup {
    html! {
        @match state {
            State::Nothing => p { "Nothing is running." },
            State::Running(title, Some(live)) => {
                p { "Running: " (words::text(title)) ". " a href=(live) { "Watch or stop it" } }
            }
            State::Running(title, None) => p { "Running: " (words::text(title)) "." },
            State::Ended(Ended { title, how, lines }) => {
                p { "Nothing is running. The last load, " (words::text(title)) ", " (how) ". " a href="/" { "All results" } }
                @if !lines.is_empty() { pre { @for line in lines { (words::text(line)) "\n" } } }
            }
        }
    }
}

/// The page with the forms.
pub fn forms(offers: &Offers, state: &State) -> String {
    let url = html! {
        (text(field::URL, "URL", "http://127.0.0.1:8080/", field::URL))
        (text(field::RATE, "Rate, requests/s (empty: as fast as the connections get answers)", "", field::URL))
        (text(field::CONNECTIONS, "Connections (empty: the default)", "", field::URL))
        (text(field::DURATION, "Duration", "30s", field::URL))
        (text(field::NAME, "Name of the result (empty: the host)", "", field::URL))
    };
    let script = html! {
        (choice(field::SCRIPT, "Script", &offers.scripts))
        (text(field::VUS, "VUs (empty: as in the script)", "", field::SCRIPT))
        (text(field::DURATION, "Duration (empty: as in the script)", "", field::SCRIPT))
    };
    let study = html! {
        (choice(field::STUDY, "Study", &offers.studies))
        p.field { label { input type="checkbox" name=(field::QUICK) value="yes"; " quick form" } }
    };
    let body = html! {
        header.front {
            p.kind { "knee serve" }
            h1.answer { "Start a load" }
            (last(state))
        }
        (form(field::URL, "A URL", &url))
        @if !offers.scripts.is_empty() { (form(field::SCRIPT, "A script", &script)) }
        @if !offers.studies.is_empty() { (form(field::STUDY, "A study", &study)) }
        @if offers.scripts.is_empty() && offers.studies.is_empty() {
            p.note { "No folder with scripts or studies was named: " code { "knee serve --control --folder DIR" } "." }
        }
    };
    served::with_script("Start a load · knee", &body, Some(Inline::Control))
}

/// The page that shows what would run. `facts` are pairs of a name and a text; `fields` go with the confirmation.
pub fn confirmation(control: &str, facts: &[(&str, String)], fields: &[(String, String)]) -> String {
    let body = html! {
        header.front { p.kind { "knee serve" } h1.answer { "Start this load?" } }
        dl.facts { @for (name, text) in facts { dt { (name) } dd { (words::text(text)) } } }
        form.start method="post" action=(CONFIRMED) {
            input type="hidden" name="control" value=(control);
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            p { button { "Start" } " " a href=(START) { "Back" } }
        }
    };
    page("Start this load?", &body)
}

/// The page after the start. `live`: where the live page of the load is.
pub fn started(title: &str, live: &str) -> String {
    let body = html! {
        header.front { p.kind { "knee serve" } h1.answer { "The load has started" } p { (words::text(title)) } }
        p { a href=(live) { "Watch it live" } }
        p.note {
            "When it has ended, its result is in the list, and the page with the "
            a href=(START) { "forms" } " says how it ended."
        }
    };
    page("The load has started", &body)
}

fn page(title: &str, body: &Markup) -> String {
    served::own(&format!("{title} · knee"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_folder_that_they_share() {
        let all = ["/srv/load/shop/buy.js", "/srv/load/shop/look.js", "/srv/load/api.js"].map(str::to_owned);
        assert_eq!(without_common_folder(&all[0], &all), "shop/buy.js");
        assert_eq!(without_common_folder(&all[2], &all), "api.js");
        assert_eq!(without_common_folder(&all[2], &all[2..]), "api.js");
        assert_eq!(without_common_folder("a.js", &["a.js".to_owned()]), "a.js");
    }

    #[test]
    fn what_was_typed_is_text_on_every_page() {
        let hostile = "<script>alert(1)</script>\"";
        let offers = Offers { scripts: vec![hostile.to_owned()], studies: vec![hostile.to_owned()] };
        let ended = Ended {
            title: hostile.to_owned(),
            how: "has ended with exit code 107".to_owned(),
            lines: vec![hostile.to_owned()],
        };
        let pairs = [(hostile.to_owned(), hostile.to_owned())];
        for page in [
            forms(&offers, &State::Running(hostile.to_owned(), Some("http://127.0.0.1:1/".to_owned()))),
            forms(&offers, &State::Ended(ended)),
            confirmation("token", &[("URL", hostile.to_owned())], &pairs),
            started(hostile, "http://127.0.0.1:1/"),
        ] {
            assert!(!page.contains("<script>alert") && page.contains("&lt;script"), "{page}");
            let policy = "<meta name=\"referrer\" content=\"same-origin\">";
            assert!(page.contains(policy), "else browsers send the origin of the form as null: {page}");
        }
    }

    #[test]
    fn a_form_of_what_is_not_offered_is_not_there() {
        let page = forms(&Offers::default(), &State::Nothing);
        assert!(
            !page.contains("A study") && page.contains("--folder DIR") && page.contains("Nothing is running")
        );
    }
}
