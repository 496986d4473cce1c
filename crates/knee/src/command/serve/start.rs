//! What the owner of the second token can start from `knee serve`: a load of a URL, a script or a study of a folder that
//! was named.
//!
//! A load is a `knee` of its own ([`super::begun`]), one at a time. It is started with flags that are made here from checked
//! fields, never with a line that was typed. Does not lay pages out.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use knee_report::html::start::{CONFIRMED, Offers, State, confirmation, field, forms, started};
use url::Url;

use super::begun::Begun;
use crate::args::{self, Invocation, Refused};
use crate::live::plan_words;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::{self, Surroundings};
use crate::web::answer::HTML;
use crate::web::{Answer, CONTROL, Policy, Request};

/// How often the end of `knee serve` looks whether its load has ended.
const PACE: Duration = Duration::from_millis(50);

/// The fields that a page sends, in the order in which they become flags.
const FIELDS: [&str; 10] = [
    field::KIND,
    field::URL,
    field::SCRIPT,
    field::STUDY,
    field::RATE,
    field::CONNECTIONS,
    field::VUS,
    field::DURATION,
    field::NAME,
    field::QUICK,
];

/// What can be started, and what is running.
#[derive(Debug)]
pub(super) struct Starts {
    /// Folders without any link in their paths.
    folders: Vec<PathBuf>,
    /// Where the live pages of loads are served.
    at: IpAddr,
    /// The load in progress, or the last one.
    last: Mutex<Option<Begun>>,
}

impl Starts {
    /// What is in these folders can be started, with live pages at `at`.
    ///
    /// # Errors
    ///
    /// When one is no folder.
    pub(super) fn of(folders: &[PathBuf], at: IpAddr) -> Result<Self, Problem> {
        let whole = |folder: &PathBuf| {
            let problem = |why: &str| {
                let what = format!("`--folder {}`: {why}", on_one_line(&folder.display().to_string()));
                Problem::new(what, "give a folder with scripts or studies")
            };
            let path = folder.canonicalize().map_err(|error| problem(&reason(&error)))?;
            if path.is_dir() { Ok(path) } else { Err(problem("this is no folder")) }
        };
        let folders = folders.iter().map(whole).collect::<Result<_, _>>()?;
        Ok(Self { folders, at, last: Mutex::default() })
    }

    /// The page with the forms. Its forms are refused without the token that controls.
    pub(super) fn page(&self, request: &Request) -> Answer {
        let state = match self.last().as_mut() {
            None => State::Nothing,
            Some(last) => match last.ended() {
                Some(ended) => State::Ended(ended),
                None => State::Running(last.title().to_owned(), last.live().map(|live| seen(&live, request))),
            },
        };
        Answer::ok(HTML, forms(&self.offers(), &state)).under(Policy::Control)
    }

    /// The answer to a form, whose token was checked.
    ///
    /// # Errors
    ///
    /// Why nothing can be started.
    pub(super) fn form(&self, request: &Request) -> Result<Answer, Problem> {
        let control = request.field(CONTROL).unwrap_or_default();
        let asked = Asked::of(request, &self.offers())?;
        let facts = asked.facts()?;
        if request.path != CONFIRMED {
            return Ok(document(confirmation(&control, &facts, &asked.fields)));
        }
        let live = self.start(&asked)?;
        Ok(document(started(&asked.title, &seen(&live, request))))
    }

    /// Starts what was asked for, unless something is running. Returns the URL of its live page.
    fn start(&self, asked: &Asked) -> Result<String, Problem> {
        let mut last = self.last();
        if let Some(running) = in_progress(&mut last) {
            let what = format!("a load is running: {}", running.title());
            return Err(Problem::new(
                what,
                "wait for its end, or stop it on its live page, which the page with the forms links",
            ));
        }
        let begun = Begun::begin(&asked.words, &asked.title, self.at).map_err(|error| {
            Problem::new(format!("the load cannot be started: {}", reason(&error)), "start it in a terminal")
        })?;
        let (id, said) = (begun.id(), begun.said());
        *last = Some(begun);
        // The pages are served on while it starts.
        drop(last);
        let live = said.page();
        let failed = |lines: &str| {
            Problem::new(format!("the load did not start: {lines}"), "start it in a terminal to see more")
        };
        // A load that ended at once can have made room for another one.
        if live.is_err()
            && let Some(begun) = self.last().as_mut().filter(|begun| begun.id() == id)
        {
            // Without a page it cannot be stopped from here. After an error it has ended.
            begun.kill();
        }
        live.map_err(|lines| failed(&lines))
    }

    /// Stops what is running, as Ctrl-C in a terminal does, and waits for it. Each message of `signals` is one more.
    pub(super) fn end(&self, signals: &Receiver<()>, narrate: fn(&str)) {
        let mut last = self.last();
        let Some(running) = in_progress(&mut last) else { return };
        narrate(&format!("stopping the load in progress: {}", running.title()));
        running.interrupt();
        while running.is_running() {
            if signals.recv_timeout(PACE).is_ok() {
                narrate("interrupted again: what is in flight is cut off");
                running.interrupt();
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Begun>> {
        // A load is stored in one step.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in the folders now. A link that leads out of its folder is left out.
    fn offers(&self) -> Offers {
        let mut offers = Offers::default();
        for folder in &self.folders {
            if is_study(folder, folder) {
                offers.studies.extend(text(folder));
            }
            for path in inside(folder) {
                let kind = path.extension().and_then(|kind| kind.to_str());
                if path.is_file() && matches!(kind, Some("js" | "ts")) {
                    offers.scripts.extend(text(&path));
                } else if is_study(&path, folder) {
                    offers.studies.extend(text(&path));
                }
            }
        }
        offers
    }
}

/// The last load, if it is running.
fn in_progress(last: &mut Option<Begun>) -> Option<&mut Begun> {
    let last = last.as_mut()?;
    last.is_running().then_some(last)
}

/// Whether a folder has a study that lies within `root`.
fn is_study(folder: &Path, root: &Path) -> bool {
    let file = folder.join(super::super::study::FILE).canonicalize();
    file.is_ok_and(|file| file.is_file() && file.starts_with(root))
}

/// What lies directly in a folder, by name, without links that lead out of it.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.path().canonicalize().ok())
        .filter(|path| path.starts_with(folder))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// A path that a page can show and send back.
fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

/// A load that was asked for.
struct Asked {
    /// The fields, for the confirmation.
    fields: Vec<(String, String)>,
    /// The words of its command after `knee`.
    words: Vec<OsString>,
    title: String,
}

impl Asked {
    /// Reads the fields of a form.
    fn of(request: &Request, offers: &Offers) -> Result<Self, Problem> {
        let given = |name: &str| {
            let value = request.field(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let fields = FIELDS.into_iter().filter_map(|name| Some((name.to_owned(), given(name)?))).collect();
        let kind = given(field::KIND).unwrap_or_default();
        // Each value is one word with its flag, so it cannot become another flag.
        let flag = |name: &str| given(name).map(|value| format!("--{name}={value}"));
        let mut words = Vec::new();
        let title = match kind.as_str() {
            field::URL => {
                let flags = [field::RATE, field::CONNECTIONS, field::DURATION, field::NAME];
                words.extend(flags.into_iter().filter_map(flag));
                url(given(field::URL))?
            }
            field::SCRIPT => {
                words.push("run".to_owned());
                words.extend([field::VUS, field::DURATION].into_iter().filter_map(flag));
                offered(&offers.scripts, given(field::SCRIPT))?
            }
            field::STUDY => {
                words.push("study".to_owned());
                words.extend(given(field::QUICK).map(|_| "--quick".to_owned()));
                offered(&offers.studies, given(field::STUDY))?
            }
            _ => return Err(Problem::new("nothing was chosen", "go back and choose what to start")),
        };
        words.extend(["--".to_owned(), title.clone()]);
        Ok(Self { fields, words: words.into_iter().map(OsString::from).collect(), title })
    }

    /// What would run, in names and texts. Checked as the command itself checks it.
    fn facts(&self) -> Result<Vec<(&'static str, String)>, Problem> {
        let line = std::iter::once(OsString::from("knee")).chain(self.words.iter().cloned());
        let invocation = args::parse(line).map_err(|refused| match refused {
            Refused::Problem(problem) => problem,
            Refused::Shown(_) => Problem::new("this is no load", "go back and fill in the form"),
        })?;
        Ok(match invocation {
            Invocation::Load(args) => {
                let load = settings::resolve(&args, &Surroundings::read())?;
                let lasts = load
                    .plan
                    .duration()
                    .map_or_else(|| "as its requests take".to_owned(), |lasts| lasts.to_string());
                vec![
                    ("Target", self.title.clone()),
                    ("Load", plan_words::load(&load.plan)),
                    ("Duration", lasts),
                ]
            }
            Invocation::Run(args) => {
                settings::script::asked(&args, &|name| std::env::var(name).ok(), true)?;
                vec![("Script", self.title.clone()), ("Load", self.given("as its options say"))]
            }
            Invocation::Study(_) => {
                vec![("Study", self.title.clone()), ("Load", self.given("as its study.toml says"))]
            }
            _ => return Err(Problem::new("this is no load", "go back and fill in the form")),
        })
    }

    /// The fields that change the load of a script or a study.
    fn given(&self, otherwise: &str) -> String {
        let changing = [field::VUS, field::DURATION, field::QUICK];
        let changed: Vec<String> = self
            .fields
            .iter()
            .filter(|(name, _)| changing.contains(&name.as_str()))
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if changed.is_empty() {
            otherwise.to_owned()
        } else {
            format!("{otherwise}, with {}", changed.join(", "))
        }
    }
}

/// A URL of the schemes that a load can have: other words would be files or flags.
fn url(given: Option<String>) -> Result<String, Problem> {
    let is_http = |url: &String| ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    given.filter(is_http).ok_or_else(|| {
        Problem::new("this is no URL of a service", "give one that begins with http:// or https://")
    })
}

/// A path that is offered.
fn offered(offers: &[String], given: Option<String>) -> Result<String, Problem> {
    given.filter(|path| offers.contains(path)).ok_or_else(|| {
        Problem::new(
            "this is not among the scripts and studies that can be started",
            "name its folder: `knee serve --control --folder DIR`",
        )
    })
}

/// The URL of a live page by the name by which the browser reached this one.
fn seen(live: &str, request: &Request) -> String {
    let host = request.header("host").and_then(|host| Url::parse(&format!("http://{host}/")).ok());
    let by_name = |host: Url| {
        let mut url = Url::parse(live).ok()?;
        url.set_host(host.host_str()).ok()?;
        Some(url.to_string())
    };
    host.and_then(by_name).unwrap_or_else(|| live.to_owned())
}

fn document(page: String) -> Answer {
    Answer::ok(HTML, page).under(Policy::Document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::form_of;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn asked(fields: &str, offers: &Offers) -> Result<Asked, Problem> {
        Asked::of(&form_of(CONFIRMED, fields), offers)
    }

    #[test]
    fn a_value_stays_the_value_of_its_flag_whatever_it_looks_like() {
        let asked = asked(
            "kind=url&url=http%3A%2F%2Fa%2F&rate=--allow-host%3Da&duration=5s+--out+x&quick=yes",
            &Offers::default(),
        )
        .unwrap();
        let expected = ["--rate=--allow-host=a", "--duration=5s --out x", "--", "http://a/"];
        assert_eq!(asked.words, expected);
        assert!(asked.facts().unwrap_err().what.contains("--allow-host=a"), "and it is no rate");
    }

    #[test]
    fn what_is_not_offered_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.js"), "").unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        fs::write(outside.path().join("b.js"), "").unwrap();
        std::os::unix::fs::symlink(outside.path().join("b.js"), folder.path().join("c.js")).unwrap();
        fs::create_dir(folder.path().join("study")).unwrap();
        fs::write(folder.path().join("study").join("study.toml"), "").unwrap();
        let starts = Starts::of(&[folder.path().to_owned()], LOOPBACK).unwrap();
        let offers = starts.offers();
        let root = folder.path().canonicalize().unwrap();
        let shown = |name: &str| root.join(name).display().to_string();
        assert_eq!((&offers.scripts, &offers.studies), (&vec![shown("a.js")], &vec![shown("study")]));
        assert!(asked(&format!("kind=script&script={}", shown("a.js")), &offers).is_ok());
        for fields in [
            format!("kind=script&script={}", shown("c.js")),
            format!("kind=script&script={}", shown("../b.js")),
            format!("kind=script&script={}", outside.path().join("b.js").display()),
            "kind=script&script=a.js".to_owned(),
            format!("kind=study&study={}", shown("a.js")),
            "kind=url&url=file%3A%2F%2F%2Fetc%2Fpasswd".to_owned(),
            "kind=url&url=--help".to_owned(),
            "kind=other&url=http%3A%2F%2Fa%2F".to_owned(),
            String::new(),
        ] {
            assert!(asked(&fields, &offers).is_err(), "{fields}");
        }
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        let error = Starts::of(&[PathBuf::from("/nowhere")], LOOPBACK).unwrap_err();
        assert!(error.what.starts_with("`--folder /nowhere`: "), "{error}");
    }

    #[test]
    fn a_live_page_is_linked_by_the_name_by_which_the_forms_were_reached() {
        let live = "http://127.0.0.1:4000/?token=a#control=b";
        for (host, expected) in [
            ("localhost:80", "http://localhost:4000/?token=a#control=b"),
            ("192.0.2.7:9000", "http://192.0.2.7:4000/?token=a#control=b"),
            ("[::1]:9000", "http://[::1]:4000/?token=a#control=b"),
        ] {
            let request = crate::web::request_of(&format!("GET / HTTP/1.1\nHost: {host}")).unwrap().unwrap();
            assert_eq!(seen(live, &request), expected);
        }
    }

    #[test]
    fn a_number_of_vus_that_is_none_is_refused_before_the_confirmation() {
        let offers = Offers { scripts: vec!["/a.js".to_owned()], studies: Vec::new() };
        for (fields, says) in [("vus=many", "`many`"), ("duration=5", "`5`")] {
            let asked = asked(&format!("kind=script&script=%2Fa.js&{fields}"), &offers).unwrap();
            assert!(asked.facts().unwrap_err().what.contains(says), "{fields}");
        }
    }
}
