//! What the owner of the second token can start from `knee serve`: a load of a URL, a script or a study of a folder that
//! was named.
//!
//! A load is a `knee` of its own with a live page that can be stopped, one at a time. It is started with flags that are
//! made here from checked fields, never with a line that was typed. Does not lay pages out.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use knee_report::html::start::{CONFIRMED, Offers, confirmation, field, forms, started};
use rustix::process::{Pid, Signal, kill_process};

use crate::args::{self, Invocation, Refused};
use crate::live::plan_words;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::{self, Surroundings};
use crate::web::answer::HTML;
use crate::web::{Answer, CONTROL, Policy, Refusal, Request};

/// Longest that a load takes to say where its live page is.
const PAGE_TIME: Duration = Duration::from_secs(20);
/// Longest that the end of `knee serve` waits for the load that it started.
const END_TIME: Duration = Duration::from_secs(10);
/// How often that is looked at.
const PACE: Duration = Duration::from_millis(50);
/// Most lines of a load that did not start.
const LINES_MAX: usize = 5;

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
    running: Mutex<Option<Running>>,
}

/// A load in progress, or one that has ended.
#[derive(Debug)]
struct Running {
    child: Child,
    title: String,
    /// Where its live page is, once it is known.
    live: Option<String>,
}

impl Starts {
    /// What is in these folders can be started.
    ///
    /// # Errors
    ///
    /// When one is no folder.
    pub(super) fn of(folders: &[PathBuf]) -> Result<Self, Problem> {
        let whole = |folder: &PathBuf| {
            let problem = |why: &str| {
                let what = format!("`--folder {}`: {why}", on_one_line(&folder.display().to_string()));
                Problem::new(what, "give a folder with scripts or studies")
            };
            let path = folder.canonicalize().map_err(|error| problem(&reason(&error)))?;
            if path.is_dir() { Ok(path) } else { Err(problem("this is no folder")) }
        };
        let folders = folders.iter().map(whole).collect::<Result<_, _>>()?;
        Ok(Self { folders, running: Mutex::default() })
    }

    /// The page with the forms, for who has the token that controls.
    pub(super) fn page(&self, control: Option<&str>) -> Answer {
        let Some(control) = control else { return Answer::refusal(Refusal::Control) };
        let mut running = self.running();
        let title = running.as_mut().and_then(Running::title_if_running);
        let live = running.as_ref().and_then(|running| running.live.clone()).unwrap_or_default();
        document(forms(control, &self.offers(), title.as_deref().map(|title| (title, &*live))))
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
        Ok(document(started(&asked.title, &live)))
    }

    /// Starts what was asked for, unless something is running. Returns the URL of its live page.
    fn start(&self, asked: &Asked) -> Result<String, Problem> {
        let mut running = self.running();
        if let Some(title) = running.as_mut().and_then(Running::title_if_running) {
            let what = format!("a load is running: {title}");
            return Err(Problem::new(
                what,
                "wait for its end, or stop it on its live page, which the page with the forms links",
            ));
        }
        let unable = |error: std::io::Error| {
            Problem::new(format!("the load cannot be started: {}", reason(&error)), "start it in a terminal")
        };
        let mut child = Command::new(std::env::current_exe().map_err(unable)?)
            .args(&asked.words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal is for `knee serve`, which stops the load once.
            .process_group(0)
            .spawn()
            .map_err(unable)?;
        let lines = child.stderr.take().map(heard);
        let id = child.id();
        *running = Some(Running { child, title: asked.title.clone(), live: None });
        drop(running);
        let live = lines.map_or_else(|| Err(not_said(&[])), |lines| page_of(&lines));
        // A load that ended at once can have made room for another one.
        if let Some(running) = self.running().as_mut().filter(|running| running.child.id() == id) {
            running.live = live.as_ref().ok().cloned();
            if live.is_err() {
                // Without a page it cannot be stopped from here. It can have ended by itself.
                let _ = running.child.kill();
            }
        }
        live
    }

    /// Stops what is running, as an interrupt in a terminal does, and waits for it.
    pub(super) fn end(&self, narrate: fn(&str)) {
        let mut running = self.running();
        let Some(running) = running.as_mut() else { return };
        let Some(title) = running.title_if_running() else { return };
        narrate(&format!("stopping the load in progress: {title}"));
        // It can have ended since: then there is nothing to stop.
        let _ = kill_process(Pid::from_child(&running.child), Signal::INT);
        for _ in 0..END_TIME.as_millis() / PACE.as_millis() {
            if running.title_if_running().is_none() {
                return;
            }
            thread::sleep(PACE);
        }
        let _ = running.child.kill();
        let _ = running.child.wait();
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        // A child is stored in one step.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Running {
    /// Its title; `None` when it has ended.
    fn title_if_running(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => Some(self.title.clone()),
            Ok(Some(_)) | Err(_) => None,
        }
    }
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
        let mut words = vec!["--web=127.0.0.1:0".to_owned(), "--web-control".to_owned()];
        let title = match kind.as_str() {
            field::URL => {
                let flags = [field::RATE, field::CONNECTIONS, field::DURATION, field::NAME];
                words.extend(flags.into_iter().filter_map(flag));
                url(given(field::URL))?
            }
            field::SCRIPT => {
                words.insert(0, "run".to_owned());
                words.extend([field::VUS, field::DURATION].into_iter().filter_map(flag));
                offered(&offers.scripts, given(field::SCRIPT))?
            }
            field::STUDY => {
                words.insert(0, "study".to_owned());
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
            Invocation::Run(_) => {
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

/// The lines that a process writes to stderr. It is read to its end, so that the process never waits.
fn heard(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines): (Sender<String>, _) = channel();
    let read = move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // After the first lines nothing listens.
            let _ = sender.send(line);
        }
    };
    // Without a thread the process is not read, and says nothing.
    drop(thread::Builder::new().name("load".to_owned()).spawn(read));
    lines
}

/// Waits for the line with the URL of the live page that can be controlled.
fn page_of(lines: &Receiver<String>) -> Result<String, Problem> {
    let mut said = Vec::new();
    while let Ok(line) = lines.recv_timeout(PAGE_TIME) {
        if let Some(url) = line.strip_prefix("page that can stop and steer: ") {
            return Ok(url.to_owned());
        }
        said.push(line);
    }
    Err(not_said(&said))
}

fn not_said(said: &[String]) -> Problem {
    let last: Vec<String> = said.iter().rev().take(LINES_MAX).rev().map(|line| on_one_line(line)).collect();
    Problem::new(format!("the load did not start: {}", last.join(" ")), "start it in a terminal to see more")
}

fn document(page: String) -> Answer {
    Answer::ok(HTML, page).under(Policy::Document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::form_of;

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
        let expected = [
            "--web=127.0.0.1:0",
            "--web-control",
            "--rate=--allow-host=a",
            "--duration=5s --out x",
            "--",
            "http://a/",
        ];
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
        let starts = Starts::of(&[folder.path().to_owned()]).unwrap();
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
        let error = Starts::of(&[PathBuf::from("/nowhere")]).unwrap_err();
        assert!(error.what.starts_with("`--folder /nowhere`: "), "{error}");
    }
}
