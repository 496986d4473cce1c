//! `knee tour`: a load test, a sweep, a look for what stops the server, and a comparison, on demo servers whose limits
//! can be computed, in about 90 s.
//!
//! Each part is a command that a user could type, printed before it runs as a process of this program. Its result is
//! also written as a page. Does not measure, and does not judge what the commands find: it compares the sweep's
//! throughput with the prediction and prints both, and what bounds the server is what the rules say about the third
//! part's run, whatever that is.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use knee_core::record::Run;
use knee_core::unit::Nanos;
use knee_driver::private_file;
use knee_engine::control::{Control, Request};
use knee_findings::{Bound, Evidence, Finding, Report, examine};
use knee_report::clean;
use knee_report::number::{count, counted, level, percent};
use knee_report::text::ink::wrap_words;
use serde_json::Value;

use super::saved;
use crate::args::TourArgs;
use crate::demo::Demo;
use crate::demo::server::Service;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::signals;
use crate::store::{self, Store};

/// A failed tour, with its exit code.
type Failed = (Problem, Exit);

/// The server of all parts. Slow enough that the wake-up of a thread, about 60 us, hardly counts.
const WORKERS: usize = 8;
const SERVICE_MS: u64 = 4;

/// Workers of the variant in the comparison.
const MORE_WORKERS: usize = 12;

/// Users of the third part, who double twice, and how long each level lasts. A rule that compares levels needs users
/// who grow threefold, and four whole intervals of each level.
const USERS: [usize; 3] = [8, 16, 32];
const LEVEL: &str = "5s";

/// Columns of the last lines.
const COLUMNS: usize = 110;

/// A measured throughput this near the prediction counts as agreement.
const NEAR: f64 = 0.1;

/// Durations of the parts.
struct Lengths {
    load: &'static str,
    sweep: &'static str,
    compare: &'static str,
    /// The announced total duration.
    whole: &'static str,
}

const FULL: Lengths = Lengths {
    load: "-z 10s",
    sweep: "--step 2s --max-time 35s",
    compare: "--blocks 8 -z 1s --warm-up 300ms",
    whole: "about 90 s",
};

const BRIEF: Lengths = Lengths {
    load: "-z 1s",
    sweep: "--step 1s --max-time 8s",
    compare: "--blocks 7 -z 400ms --warm-up 100ms --metric goodput",
    whole: "about 35 s",
};

/// Runs the command.
///
/// # Errors
///
/// When a server cannot be started, or a command fails.
pub fn tour(args: &TourArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let lengths = if args.brief { &BRIEF } else { &FULL };
    let service = service();
    let control = Control::new();
    // The commands end themselves in order; without this the tour would be gone before them.
    let _signals = signals::watch(control.clone()).map_err(|error| failed(&error))?;
    let guide = Guide { program: std::env::current_exe().map_err(|error| failed(&error))?, control, narrate };
    // For what the tour alone reads.
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    narrate(&format!(
        "A tour of knee in {}: a load test, a sweep, what stops the server, a comparison. Ctrl-C ends it.\n\
         The demo server has {WORKERS} workers. A request keeps a worker busy for {SERVICE_MS} ms on average, so the server\n\
         can answer {WORKERS} / {SERVICE_MS} ms = {} requests/s.",
        lengths.whole,
        per_second(service.knee())
    ));
    match parts(&guide, lengths, &service, folder.path()) {
        Ok(found) => {
            narrate(&closing(&service, &found));
            Ok(Exit::Ok)
        }
        Err(Stop::Interrupted) => Ok(Exit::Interrupted),
        Err(Stop::Failed(problem)) => Err((problem, Exit::Failure)),
    }
}

fn service() -> Service {
    Service { workers: WORKERS, service_time: Nanos::from_millis(SERVICE_MS), ..Service::default() }
}

/// What the parts left.
struct Found {
    /// Saturation throughput that the sweep found, in requests/s.
    throughput: f64,
    /// What bounds the server, as a sentence.
    bound: String,
    /// The results as pages, in the order of the parts. One that could not be saved has none.
    pages: Vec<PathBuf>,
}

/// Runs the four parts.
fn parts(guide: &Guide, lengths: &Lengths, service: &Service, folder: &Path) -> Result<Found, Stop> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let demo = Demo::spawn(listen, service)?;
    let url = format!("http://{}/", demo.address());
    let load = guide.with_page("load", || load(guide, lengths, service, &url))?;
    let sweep =
        guide.with_page("sweep", || sweep(guide, lengths, service, &url, &folder.join("sweep.json")))?;
    drop(demo);
    // Requests of the sweep can still wait in the queue of the first server.
    let demo = Demo::spawn(listen, service)?;
    let levels = guide.with_page("levels", || levels(guide, &demo))?;
    drop(demo);
    let comparison = guide.with_page("comparison", || compare(guide, lengths))?;
    Ok(Found {
        throughput: sweep.found,
        bound: bound(levels.saved.as_deref()),
        pages: [load.page, sweep.page, levels.page, comparison.page].into_iter().flatten().collect(),
    })
}

fn load(guide: &Guide, lengths: &Lengths, service: &Service, url: &str) -> Result<(), Stop> {
    let rate = service.knee() / 2.0;
    guide.say(
        "1/4  Load test: half of the load that the server can answer",
        "knee sends requests on schedule, even if earlier requests are not answered yet.",
    );
    guide.run(&format!("{url} -q {rate} {}", lengths.load), &[], &[])?;
    guide.look(
        "Response time is the time that a user waits. It starts at the scheduled time of the request. The last \
         lines say whether you can trust the figures.",
    );
    Ok(())
}

fn sweep(guide: &Guide, lengths: &Lengths, service: &Service, url: &str, json: &Path) -> Result<f64, Stop> {
    let predicted = service.knee();
    guide.say(
        "2/4  Sweep: how much can it take?",
        &format!(
            "The rate rises until the server falls behind. Then the sweep narrows the limit down. Predicted limit: \
             {} requests/s.",
            per_second(predicted)
        ),
    );
    let line = format!(
        "sweep {url} --from {} --to {} --factor 1.5 {}",
        predicted / 4.0,
        predicted * 2.0,
        lengths.sweep
    );
    guide.run(&line, &[], &["--json".into(), json.into()])?;
    let found = saturation(json)?;
    guide.look(&format!("{}.", agreement(predicted, found)));
    Ok(found)
}

fn levels(guide: &Guide, demo: &Demo) -> Result<(), Stop> {
    let [few, more, many] = USERS;
    guide.say(
        "3/4  Findings: what stops it there?",
        &format!(
            "{few}, {more}, then {many} users send one request each as soon as the last one is answered. knee watches the \
             server and the machine beside them."
        ),
    );
    let stages = format!("{LEVEL}:{few},0s:{more},{LEVEL}:{more},0s:{many},{LEVEL}:{many}");
    let (address, pid) = (demo.address(), demo.id());
    let line = format!("http://{address}/ -c {few} --stage {stages} --observe host --observe pid:{pid}");
    guide.run(&line, &[], &[])?;
    guide.look(
        "If rules found what stops the server, it stands below \"What stops it\". `knee explain` with the code in \
         brackets has the limits. The tour ends with their answer.",
    );
    Ok(())
}

fn compare(guide: &Guide, lengths: &Lengths) -> Result<(), Stop> {
    guide.say(
        "4/4  Comparison: do more workers help?",
        &format!(
            "A has {WORKERS} workers and B has {MORE_WORKERS}, so B should answer 1.5 times as many requests. A and \
             B alternate, and each trial starts a new server."
        ),
    );
    let name = guide.name();
    let variant = |workers: usize| {
        format!(
            "{name} demo --serve-only --listen 127.0.0.1:{{port}} --server-workers {workers} --server-time {SERVICE_MS}ms"
        )
    };
    let sides = [variant(WORKERS).into(), variant(MORE_WORKERS).into()];
    guide.run(&format!("compare -c 32 {}", lengths.compare), &sides, &[])?;
    guide.look(
        "The first line is the verdict. The 95 % CI is the range of changes that are compatible with the \
         measurements.",
    );
    Ok(())
}

/// What bounds the server by its saved run.
fn bound(saved: Option<&Path>) -> String {
    match saved.and_then(|saved| saved::open_run(saved, |_| ()).ok()) {
        Some(run) => bound_of(&run),
        None => "What bounds the demo server was not looked for: its run could not be saved.".to_owned(),
    }
}

/// What bounds the server by the rules over a run of it and what was observed beside it.
fn bound_of(run: &Run) -> String {
    bound_by(&examine(&Evidence::of(run, &run.observations)))
}

/// The first finding; without one, the resource that is full; without one, that there is neither.
fn bound_by(report: &Report) -> String {
    let (first, tightest) = (report.findings.first(), report.bounds.first());
    if let Some(finding) = first.filter(|finding| !finding.is_hint()) {
        return format!("What bounds the demo server: {}.", of_rule(finding));
    }
    if let Some(bound) = tightest.filter(|bound| bound.is_confirmed()) {
        return format!("What bounds the demo server: {}.", of_resource(bound));
    }
    if let Some(hint) = first {
        return format!("What bounds the demo server is uncertain. By one figure alone: {}.", of_rule(hint));
    }
    if report.ran.is_empty() {
        let lacks = report.could_not_run.first().map(|rule| clean::line(&rule.lacks));
        let lacks = lacks.unwrap_or_default();
        return format!("What bounds the demo server was not looked for: the rules lack {lacks}.");
    }
    let rules = counted(report.ran.len() as u64, "rule");
    let nearest = tightest.map_or_else(String::new, |bound| {
        format!(" The observed resource that is nearest to its limit: {}.", of_resource(bound))
    });
    format!("What bounds the demo server was not found: {rules} ran and found nothing.{nearest}")
}

/// What a rule found, with the figures in its statement.
fn of_rule(finding: &Finding) -> String {
    format!("{} [{}]", clean::line(&finding.statement), finding.code)
}

/// How full a resource is, and what it allows.
fn of_resource(bound: &Bound) -> String {
    format!(
        "{} ({} busy, at most {} responses/s)",
        clean::line(&bound.resource),
        percent(bound.reached),
        level(bound.limit_per_s)
    )
}

/// What the tour showed, what bounds the server, the results as pages, how to test the user's own service, and how to
/// re-test a tuning story.
fn closing(service: &Service, found: &Found) -> String {
    let mut lines = vec![format!(
        "\nShown: a load test that checks itself, a limit (saturation {}), a look for its cause, a verdict.",
        agreement(service.knee(), found.throughput)
    )];
    lines.extend(wrap_words("", &found.bound, COLUMNS));
    if !found.pages.is_empty() {
        lines.push("The results as pages for a browser, without a network:".to_owned());
        lines.extend(found.pages.iter().map(|page| format!("  {}", page.display())));
    }
    lines.push(
        "Next, your own service: knee http://127.0.0.1:8080/ -q 100 -z 10s (in a clone: ./try http://...)"
            .to_owned(),
    );
    lines.push("To re-test a published tuning story, in a clone of knee: ./try labs/lorem-news".to_owned());
    lines.join("\n")
}

/// The measured throughput beside the predicted one.
fn agreement(predicted: f64, found: f64) -> String {
    let apart = (found / predicted - 1.0).abs();
    let much = if apart > NEAR { "; other programs use this machine's CPUs" } else { "" };
    format!(
        "predicted {}/s, found {}/s: {:.0} % apart{much}",
        per_second(predicted),
        per_second(found),
        apart * 100.0
    )
}

fn per_second(rate: f64) -> String {
    count(rate.round() as u64)
}

/// The saturation throughput in a sweep's JSON.
fn saturation(json: &Path) -> Result<f64, Stop> {
    let unreadable = |reason: &str| Stop::Failed(Problem::new(format!("the sweep's result {reason}"), ""));
    let text = std::fs::read(json).map_err(|_| unreadable("is missing"))?;
    let document: Value = serde_json::from_slice(&text).map_err(|_| unreadable("is not JSON"))?;
    document
        .pointer("/saturation/goodput")
        .and_then(Value::as_f64)
        .ok_or_else(|| unreadable("names no saturation throughput"))
}

/// What a part left.
struct Made<T> {
    /// What the tour took from it.
    found: T,
    /// Its result as saved; `None` if it could not be saved.
    saved: Option<PathBuf>,
    /// The same as a page.
    page: Option<PathBuf>,
}

/// Runs commands of this program, and explains them.
struct Guide {
    program: PathBuf,
    control: Control,
    narrate: fn(&str),
}

impl Guide {
    /// The name of the program.
    fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Opens a part.
    fn say(&self, title: &str, text: &str) {
        (self.narrate)(&format!("\n{title}\n     {text}"));
    }

    /// Points out a part of the result above.
    fn look(&self, text: &str) {
        (self.narrate)(&format!("  -> {text}"));
    }

    /// Runs a command with the terminal of this process. Words of `line` are separated by blanks; `more` are passed
    /// unchanged; `own` serve only the tour and are not shown.
    fn run(&self, line: &str, more: &[OsString], own: &[OsString]) -> Result<(), Stop> {
        let words: Vec<OsString> =
            line.split_whitespace().map(OsString::from).chain(more.iter().cloned()).collect();
        (self.narrate)(&format!("     $ {}\n", self.shown(&words)));
        let status = Command::new(&self.program).args(&words).args(own).env("PATH", self.path()).status()?;
        if self.control.request() != Request::Run || code_is(status.code(), Exit::Interrupted) {
            return Err(Stop::Interrupted);
        }
        // An invalid measurement and a slower side are results.
        let is_result =
            [Exit::Ok, Exit::Invalid, Exit::Slower].iter().any(|exit| code_is(status.code(), *exit));
        if is_result {
            return Ok(());
        }
        Err(Stop::Failed(Problem::new(format!("`{}` ended with {status}", self.shown(&words)), "")))
    }

    /// Runs a part, and writes what it saved as the page `name`. Without a page if nothing was saved: a folder that
    /// cannot be written is no reason to end a tour.
    fn with_page<T>(&self, name: &str, part: impl FnOnce() -> Result<T, Stop>) -> Result<Made<T>, Stop> {
        let before = newest();
        let found = part()?;
        let saved = newest().filter(|saved| before.as_ref() != Some(saved));
        let page = saved.as_deref().and_then(|saved| self.page(saved, name));
        Ok(Made { found, saved, page })
    }

    /// Writes a saved result as a page.
    fn page(&self, saved: &Path, name: &str) -> Option<PathBuf> {
        let folder = store::home(|name| std::env::var_os(name))?.join("tour");
        private_file::create_folder(&folder).ok()?;
        let page = folder.join(format!("{name}.html"));
        let mut command = Command::new(&self.program);
        command.arg("report").arg(saved).args(["--format", "html", "-o"]).arg(&page);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        status.success().then_some(page)
    }

    /// A command as one would type it.
    fn shown(&self, words: &[OsString]) -> String {
        let quoted = words.iter().map(|word| {
            let word = word.to_string_lossy();
            if word.contains([' ', '{']) { format!("'{word}'") } else { word.into_owned() }
        });
        [self.name()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
    }

    /// The search path with this program's folder first, so that commands can name it as they are shown.
    fn path(&self) -> OsString {
        let folder = self.program.parent().map(Path::to_owned);
        let old = std::env::var_os("PATH").unwrap_or_default();
        let folders = folder.into_iter().chain(std::env::split_paths(&old));
        std::env::join_paths(folders).unwrap_or(old)
    }
}

/// The result that was saved last.
fn newest() -> Option<PathBuf> {
    Store::of_process()?.list().ok()?.into_iter().next()
}

fn code_is(code: Option<i32>, exit: Exit) -> bool {
    code == Some(i32::from(exit.code()))
}

/// Why a tour ends early.
enum Stop {
    Interrupted,
    Failed(Problem),
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(Problem::new(format!("a part of the tour cannot be started: {error}"), ""))
    }
}

fn failed(error: &std::io::Error) -> Failed {
    (Problem::new(format!("the tour cannot begin: {error}"), ""), Exit::Failure)
}

#[cfg(test)]
mod tests {
    use knee_core::validity::Validity;
    use knee_findings::Confidence;
    use knee_study::statistics::{power::Level, sign_flip, verdict::ALPHA};

    use super::*;

    #[test]
    fn every_tour_compares_in_as_many_blocks_as_a_verdict_needs() {
        for lengths in [&FULL, &BRIEF] {
            let mut words = lengths.compare.split_whitespace().skip_while(|word| *word != "--blocks");
            let blocks: usize = words.nth(1).unwrap().parse().unwrap();
            // Without `--metric`, a comparison is by four.
            let tests = if lengths.compare.contains("--metric ") { 1 } else { 4 };
            let level = Level { alpha: ALPHA, tests };
            assert!(blocks >= level.least_blocks(), "{}", lengths.compare);
            assert!(sign_flip::least_p(blocks) < level.of_one(), "{}", lengths.compare);
        }
    }

    #[test]
    fn a_prediction_that_is_met_says_how_nearly_and_one_that_is_not_names_a_likely_cause() {
        assert_eq!(agreement(2_000.0, 1_961.0), "predicted 2,000/s, found 1,961/s: 2 % apart");
        let far = agreement(2_000.0, 1_500.0);
        assert_eq!(
            far,
            "predicted 2,000/s, found 1,500/s: 25 % apart; other programs use this machine's CPUs"
        );
    }

    /// A service that writes head and body of a response apart, and one that writes them at once.
    const APART: &[u8] = include_bytes!("../../../knee-findings/tests/records/written-apart.knee");
    const AT_ONCE: &[u8] = include_bytes!("../../../knee-findings/tests/records/written-at-once.knee");

    fn run(record: &[u8]) -> Run {
        knee_core::record::run::read(record).unwrap().run
    }

    #[test]
    fn what_bounds_the_server_is_what_the_rules_say_of_the_run_and_not_what_the_demo_is_known_to_be() {
        let apart = bound_of(&run(APART));
        assert!(apart.starts_with("What bounds the demo server: "), "{apart}");
        assert!(apart.contains("[delayed_ack]"), "{apart}");
        let at_once = bound_of(&run(AT_ONCE));
        assert!(at_once.starts_with("What bounds the demo server was not found: "), "{at_once}");
        assert_ne!(apart, at_once);
        assert!(bound(None).contains("not looked for"));
    }

    #[test]
    fn without_a_finding_a_full_resource_bounds_the_server_and_one_that_is_not_full_is_only_the_nearest() {
        let of = |reached: f64| {
            let resource = "CPUs of host".to_owned();
            let bound = Bound { resource, servers: 2.0, demand_s: 0.001, limit_per_s: 2_000.0, reached };
            bound_by(&Report { bounds: vec![bound], ran: vec!["cpu_full"], ..Report::default() })
        };
        assert_eq!(
            of(0.97),
            "What bounds the demo server: CPUs of host (97.0 % busy, at most 2,000 responses/s)."
        );
        assert_eq!(
            of(0.31),
            "What bounds the demo server was not found: 1 rule ran and found nothing. The observed resource that is \
             nearest to its limit: CPUs of host (31.0 % busy, at most 2,000 responses/s)."
        );
    }

    #[test]
    fn a_hint_and_an_invalid_run_are_no_answer() {
        let mut run = run(APART);
        let mut report = examine(&Evidence::of(&run, &run.observations));
        report.findings[0].confidence = Confidence::Hint;
        assert!(bound_by(&report).contains("is uncertain. By one figure alone: "), "{}", bound_by(&report));
        run.validity.validity = Validity::Invalid;
        assert_eq!(
            bound_of(&run),
            "What bounds the demo server was not looked for: the rules lack a run that is not invalid."
        );
    }

    #[test]
    fn the_end_names_what_bounds_the_server_the_pages_and_the_next_commands() {
        let bound = "What bounds the demo server: a lock [lock_wait].".to_owned();
        let mut found = Found { throughput: 1_990.0, bound, pages: vec!["/home/a/tour/sweep.html".into()] };
        let text = closing(&service(), &found);
        let lines: Vec<&str> = text.trim_start().lines().collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[1], found.bound);
        assert_eq!(lines[3], "  /home/a/tour/sweep.html");
        assert!(lines[4].contains("knee http://") && lines[5].contains("./try labs/lorem-news"), "{text}");
        found.pages.clear();
        assert_eq!(closing(&service(), &found).trim_start().lines().count(), 4);
    }

    #[test]
    fn a_command_is_shown_as_a_shell_would_take_it() {
        let guide = Guide { program: "/opt/knee".into(), control: Control::new(), narrate: |_| () };
        let words = ["compare".into(), "knee demo {port}".into(), "-c".into()];
        assert_eq!(guide.shown(&words), "knee compare 'knee demo {port}' -c");
        assert!(guide.path().to_string_lossy().starts_with("/opt"));
    }
}
