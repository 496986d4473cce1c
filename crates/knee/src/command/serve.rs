//! `knee serve`: everything saved, in a browser: the list, the trends, each result, two runs beside each other.
//!
//! Changes nothing, unless it was started with `--control`: then the owner of a second token can start a load at a time,
//! which is a `knee` of its own. Does not admit requests ([`crate::web`] does) and does not lay pages out (`knee_report` does).

use std::io;
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

use knee_report::history::{self, Entry, History};
use knee_report::html;
use knee_report::html::inline::Inline;
use knee_report::html::served::{COMPARISON, RESULTS, RUN, SEARCH, arrival, notice, with_way_back};
use knee_report::html::start::{CONFIRMED, START};
use knee_study::record_pair::RecordPair;
use url::form_urlencoded;

use super::saved::{self, Saved};
use super::{noise, render};
use crate::args::{Format, ServeArgs};
use crate::catalog::Catalog;
use crate::exit::Exit;
use crate::problem::{Problem, reason};
use crate::settings::web::listen;
use crate::signals;
use crate::stderr::say;
use crate::store::Store;
use crate::web::answer::{HTML, JSON};
use crate::web::{Answer, Pass, Policy, Refusal, Request, Server, Site, Terms};

mod begun;
mod start;

use start::Starts;

/// The parameter of the second URL that says where it leads, and what it says.
const NEXT: &str = "to";
const START_NAME: &str = "start";

/// Runs the command, until it is interrupted.
///
/// # Errors
///
/// When nothing can be saved on this machine, or the address cannot be served.
pub fn serve(args: &ServeArgs, narrate: fn(&str)) -> Result<Exit, Problem> {
    let address = listen("--listen", &args.listen)?;
    let store = Store::of_process().ok_or_else(|| {
        Problem::new("no folder for saved runs: neither KNEE_HOME nor HOME is set", "set HOME or KNEE_HOME")
    })?;
    let starts = args.control.then(|| Starts::of(&args.folder, address.ip())).transpose()?;
    let terms = Terms { control: args.control, ..Terms::READING };
    // What is new is read before the first page is asked for.
    let found = Catalog::of(&store, narrate)?.entries.len();
    let server =
        Server::start(address, Library { store, list: Mutex::new(()), starts }, terms).map_err(|error| {
            let what = format!("the pages cannot be served on {address}: {}", reason(&error));
            Problem::new(what, "give another address, or leave `--listen` out for a free port")
        })?;
    narrate(&format!("page: {}", server.url()));
    if let Some(control) = server.control() {
        narrate(&format!("page that can start loads: {}&{NEXT}={START_NAME}#{control}", server.url()));
    }
    narrate(&format!("{found} saved; serving until interrupted"));
    if !address.ip().is_loopback() {
        narrate("warning: the pages are not encrypted; an SSH tunnel to a loopback address is");
    }
    let (_watch, signals) = signals::received().map_err(|error| {
        Problem::new(format!("signals cannot be waited for: {}", reason(&error)), "start it again")
    })?;
    // The sender lives as long as the watch.
    let _ = signals.recv();
    if let Some(starts) = &server.site().starts {
        starts.end(&signals, narrate);
    }
    Ok(Exit::Ok)
}

/// What is saved, as a site.
#[derive(Debug)]
struct Library {
    store: Store,
    /// Held while the list is read: reading it can write it anew.
    list: Mutex<()>,
    /// What can be started; `None` if nothing can.
    starts: Option<Starts>,
}

impl Site for Library {
    fn respond(&self, request: &Request, pass: &Pass, stream: &TcpStream) -> io::Result<()> {
        let answered = match &self.starts {
            Some(starts) if request.is_form() => starts.form(request),
            Some(starts) if request.path == START => Ok(starts.page(request)),
            _ => self.answer(request),
        };
        let answer = answered.unwrap_or_else(|problem| {
            let page = notice(&problem.what, &problem.hint);
            let status = if request.is_form() { "409 Conflict" } else { "404 Not Found" };
            Answer::ok(HTML, page).with_status(status).under(Policy::Document)
        });
        let answer = if request.path == "/" { answer.with(&pass.cookie()) } else { answer };
        answer.write(stream, request.is_head)
    }

    fn takes_forms(&self, path: &str) -> bool {
        self.starts.is_some() && [START, CONFIRMED].contains(&path)
    }
}

impl Library {
    fn answer(&self, request: &Request) -> Result<Answer, Problem> {
        let page = match request.path.as_str() {
            // A token leaves the address at once. The one that controls stands behind its `#`, which is not sent.
            "/" if request.parameter("token").is_some() => {
                let starts = self.starts.is_some() && request.parameter(NEXT) == Some(START_NAME);
                let (place, script) = if starts { (START, Some(Inline::Control)) } else { ("/", None) };
                let policy = if starts { Policy::Control } else { Policy::Document };
                return Ok(Answer::ok(HTML, arrival(place, script)).under(policy));
            }
            "/" => html::served_history(&self.history(&search_of(request))?, &search_of(request)),
            "/history.json" => {
                return Ok(Answer::ok(JSON, history::json(&self.history(&search_of(request))?)));
            }
            path if path == COMPARISON => with_way_back(&self.comparison(request)?),
            path => match path.strip_prefix(RESULTS) {
                Some(encoded) => {
                    let page = with_way_back(&self.result(&decoded(encoded))?);
                    return Ok(Answer::ok(HTML, page).under(Policy::Report));
                }
                None => return Ok(Answer::refusal(Refusal::Path)),
            },
        };
        Ok(Answer::ok(HTML, page).under(Policy::Document))
    }

    fn catalog(&self) -> Result<Catalog, Problem> {
        // The list is written in one step: a panic leaves nothing half done.
        let _reading = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        Catalog::of(&self.store, say)
    }

    /// What is meant by a search, with the trends.
    fn history(&self, search: &str) -> Result<History, Problem> {
        let Catalog { mut entries, skipped, .. } = self.catalog()?;
        if !search.is_empty() {
            entries.retain(|entry| entry.is_meant_by(search));
        }
        let trends = Some(history::trends(&entries));
        Ok(History { entries, older: 0, trends, skipped })
    }

    fn result(&self, record: &str) -> Result<String, Problem> {
        let path = self.store.find_saved(&entry(&self.catalog()?.entries, record)?.record)?;
        match saved::open(&path, silent)? {
            Saved::Run(run, _) => Ok(render(&run, Format::Html, false, None)),
            Saved::Result(kept) => {
                let what = format!("`{record}` was saved without a page");
                let hint = "print it with `knee report`, or make it again with this version of knee";
                kept.printed.page.ok_or_else(|| Problem::new(what, hint))
            }
        }
    }

    /// Two runs beside each other, the older one first.
    fn comparison(&self, request: &Request) -> Result<String, Problem> {
        let pairs = form_urlencoded::parse(request.query.as_bytes());
        let chosen: Vec<String> =
            pairs.filter(|(name, _)| name == RUN).map(|(_, run)| decoded(&run)).collect();
        let [one, other] = &chosen[..] else {
            let many = match chosen.len() {
                0 => "no run is chosen".to_owned(),
                1 => "one run is chosen".to_owned(),
                many => format!("{many} runs are chosen"),
            };
            return Err(Problem::new(
                format!("{many}, and a comparison is of two"),
                "go back and choose two",
            ));
        };
        if one == other {
            let what = format!("`{one}` is chosen twice, and a comparison is of two runs");
            return Err(Problem::new(what, "go back and choose another one too"));
        }
        let entries = self.catalog()?.entries;
        let mut pair = [entry(&entries, one)?, entry(&entries, other)?];
        pair.sort_by_key(|entry| entry.at);
        let [a, b] = pair.map(|entry| entry.record.as_str());
        let run = |record: &str| saved::open_run(&self.store.find_saved(record)?, silent);
        let noise = noise::of_this_machine(silent);
        let (one, other) = (run(a)?, run(b)?);
        Ok(html::record_pair(&RecordPair::of((&one, a), (&other, b), noise), (&one, &other)))
    }
}

/// The entry of this name. A name is looked up in the list and never made into a path.
fn entry<'e>(entries: &'e [Entry], record: &str) -> Result<&'e Entry, Problem> {
    entries.iter().find(|entry| entry.record == record).ok_or_else(|| {
        Problem::new(format!("nothing is saved as `{record}`"), "it can have been removed; look at the list")
    })
}

/// A page has no place for notes about files.
const fn silent(_: &str) {}

fn search_of(request: &Request) -> String {
    let mut pairs = form_urlencoded::parse(request.query.as_bytes());
    pairs.find(|(name, _)| name == SEARCH).map_or(String::new(), |(_, text)| text.trim().to_owned())
}

fn decoded(encoded: &str) -> String {
    percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::web::answer::assert_protected;
    use crate::web::request_of;

    /// A record as knee-core keeps it for its own tests.
    const RECORD: &[u8] = include_bytes!("../../../knee-core/tests/fixtures/v2.knee");

    /// A library with two runs, `a` and `b`, and a folder beside it.
    fn library() -> (tempfile::TempDir, Library) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().as_os_str().to_owned();
        let store = Store::of(|name| (name == "KNEE_HOME").then(|| path.clone())).unwrap();
        fs::create_dir(store.folder()).unwrap();
        for name in ["a", "b"] {
            fs::write(store.folder().join(format!("{name}.knee")), RECORD).unwrap();
        }
        (home, Library { store, list: Mutex::new(()), starts: None })
    }

    /// What a browser gets for an admitted request.
    fn answered(library: &Library, target: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let request = request_of(&format!("GET {target} HTTP/1.1\nHost: a")).unwrap().unwrap();
        let mut answer = String::new();
        std::thread::scope(|scope| {
            // On a thread of its own: a page can be larger than what the system keeps.
            scope.spawn(move || library.respond(&request, &Pass::of_no_page(), &stream).unwrap());
            browser.read_to_string(&mut answer).unwrap();
        });
        answer
    }

    #[test]
    fn every_page_is_protected_and_so_is_every_refusal() {
        let (_home, library) = library();
        for (target, status) in [
            ("/", 200),
            ("/?token=x", 200),
            ("/?q=nothing", 200),
            ("/history.json", 200),
            ("/result/a", 200),
            ("/result/c", 404),
            ("/compare?run=a&run=b", 200),
            ("/compare?run=a", 404),
            ("/nothing", 404),
        ] {
            let answer = answered(&library, target);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
            assert_protected(&answer);
        }
    }

    #[test]
    fn a_link_to_a_record_elsewhere_is_not_served() {
        let (home, library) = library();
        let secret = home.path().join("secret.knee");
        fs::write(&secret, RECORD).unwrap();
        std::os::unix::fs::symlink(&secret, library.store.folder().join("c.knee")).unwrap();
        assert!(!answered(&library, "/history.json").contains("\"c\""));
        for target in ["/result/c", "/compare?run=a&run=c"] {
            let answer = answered(&library, target);
            assert!(
                answer.starts_with("HTTP/1.1 404 ") && answer.contains("nothing is saved as"),
                "{answer}"
            );
        }
        assert!(library.store.find_saved("c").is_err(), "also if it came after the list was read");
    }

    #[test]
    fn a_run_is_not_compared_with_itself() {
        let (_home, library) = library();
        let answer = answered(&library, "/compare?run=a&run=a");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert!(answer.contains("is chosen twice, and a comparison is of two runs"), "{answer}");
    }
}
