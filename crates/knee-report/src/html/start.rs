//! The pages on which the owner of the second token starts a load: what can be started, what would be, what was.
//!
//! Forms need no script. Does not start anything, and does not check what was typed.

use maud::{Markup, html};

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

/// The path of the page with the forms, for who has the token that controls.
pub fn path_with(control: &str) -> String {
    format!("{START}?control={control}")
}

/// What can be started, by path.
#[derive(Clone, Debug, Default)]
pub struct Offers {
    /// Scripts.
    pub scripts: Vec<String>,
    /// Folders of studies.
    pub studies: Vec<String>,
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
            select id=(name) name=(name) { @for path in of { option value=(path) { (words::plain_name(path)) } } }
        }
    }
}

/// A form of one kind. Nothing is started before its answer is confirmed.
fn form(control: &str, kind: &str, title: &str, fields: &Markup) -> Markup {
    html! {
        section {
            h2 { (title) }
            form.start method="post" action=(START) {
                input type="hidden" name="control" value=(control);
                input type="hidden" name=(field::KIND) value=(kind);
                (fields)
                p { button { "Show what would run" } }
            }
        }
    }
}

/// The page with the forms. `running`: the load in progress, in words, and where its live page is.
pub fn forms(control: &str, offers: &Offers, running: Option<(&str, &str)>) -> String {
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
            @match running {
                Some((title, live)) => p { "Running: " (words::text(title)) ". " a href=(live) { "Watch or stop it" } }
                None => p { "Nothing is running." }
            }
        }
        (form(control, field::URL, "A URL", &url))
        @if !offers.scripts.is_empty() { (form(control, field::SCRIPT, "A script", &script)) }
        @if !offers.studies.is_empty() { (form(control, field::STUDY, "A study", &study)) }
        @if offers.scripts.is_empty() && offers.studies.is_empty() {
            p.note { "No folder with scripts or studies was named: " code { "knee serve --control --folder DIR" } "." }
        }
    };
    page("Start a load", &body)
}

/// The page that shows what would run. `facts` are pairs of a name and a text; `fields` go with the confirmation.
pub fn confirmation(control: &str, facts: &[(&str, String)], fields: &[(String, String)]) -> String {
    let body = html! {
        header.front { p.kind { "knee serve" } h1.answer { "Start this load?" } }
        dl.facts { @for (name, text) in facts { dt { (name) } dd { (words::text(text)) } } }
        form.start method="post" action=(CONFIRMED) {
            input type="hidden" name="control" value=(control);
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            p { button { "Start" } " " a href=(path_with(control)) { "Back" } }
        }
    };
    page("Start this load?", &body)
}

/// The page after the start. `live`: where the live page of the load is.
pub fn started(title: &str, live: &str) -> String {
    let body = html! {
        header.front { p.kind { "knee serve" } h1.answer { "The load has started" } p { (words::text(title)) } }
        p { a href=(live) { "Watch it live" } }
        p.note { "Its result is in the list when it has ended." }
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
    fn what_was_typed_is_text_on_every_page() {
        let hostile = "<script>alert(1)</script>\"";
        let offers = Offers { scripts: vec![hostile.to_owned()], studies: vec![hostile.to_owned()] };
        let pairs = [(hostile.to_owned(), hostile.to_owned())];
        for page in [
            forms("token", &offers, Some((hostile, "http://127.0.0.1:1/"))),
            confirmation("token", &[("URL", hostile.to_owned())], &pairs),
            started(hostile, "http://127.0.0.1:1/"),
        ] {
            assert!(!page.contains("<script") && page.contains("&lt;script"), "{page}");
            let policy = "<meta name=\"referrer\" content=\"same-origin\">";
            assert!(page.contains(policy), "else browsers send the origin of the form as null: {page}");
        }
    }

    #[test]
    fn a_form_of_what_is_not_offered_is_not_there() {
        let page = forms("token", &Offers::default(), None);
        assert!(
            !page.contains("A study") && page.contains("--folder DIR") && page.contains("Nothing is running")
        );
    }
}
