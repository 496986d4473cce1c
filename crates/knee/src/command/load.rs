//! `knee URL`: loads a URL, shows it live, saves the run, prints the result.
//!
//! The order matters: errors in the command line are found before the first request, and the record is saved before
//! anything is printed.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use knee_core::clock;
use knee_core::observation::Observer;
use knee_core::outcome::Fault;
use knee_core::record::{Ending, Head, Run, SegmentOf};
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_core::validity::diagnostics::Http2Offer;
use knee_driver::Loaded;
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::http::proxy::{Proxy, ProxyKind};
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::HttpVersion;
use knee_engine::http::tls;
use knee_engine::journal::FileJournal;
use knee_engine::requests::RequestSet;
use knee_engine::run::{self, HttpConfig, Listeners};
use knee_report::text::Style;
use knee_report::{View, html};

use super::failed::{Failed, failed, refused};
use super::journal::{self, Record};
use super::observe;
use super::pushes::{self, Feed};
use super::{INCOMPLETE, INCOMPLETE_TRIAL, build, render, why_invalid};
use crate::args::{Format, LoadArgs};
use crate::exit::Exit;
use crate::fleet;
use crate::fleet::job::{UrlJob, Work};
use crate::fleet::run::{About, Done, Place};
use crate::live::fold::Conclusion;
use crate::live::{self, Live, page};
use crate::other_load::{self, Presence};
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet::FleetChoice;
use crate::settings::{self, Load, Surroundings, proxy, target};
use crate::signals;
use crate::store::{self, Kind, NewRecord, Store};

/// Runs the command.
///
/// # Errors
///
/// What is wrong with what was typed ([`Exit::Configuration`]), or what failed on this machine.
pub fn load(args: &LoadArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    run_load(&checked(args, narrate)?, narrate)
}

/// What was typed as a load whose target answers.
///
/// # Errors
///
/// What is wrong with what was typed.
pub(super) fn checked(args: &LoadArgs, narrate: fn(&str)) -> Result<Load, Failed> {
    let load = settings::resolve(args, &Surroundings::read()).map_err(refused)?;
    // The agents of a fleet can reach what this machine cannot.
    if load.fleet.is_none() {
        target::probe(&load.targets, &load.http).map_err(refused)?;
    }
    let env = |name: &str| std::env::var(name).ok();
    let request = load.requests.first().filter(|_| load.http.proxy.is_none());
    let warning = request.and_then(|request| proxy::ignored(&request.url, &env));
    if let Some(warning) = warning {
        narrate(&format!("warning: {}", on_one_line(&warning)));
    }
    Ok(load)
}

/// Gives the report of a run to the live page.
pub(super) fn show_on_page(run: &Run) {
    page::conclude(|| {
        let page = html::run(&View::of(run), None, &Style::default());
        Conclusion { answer: String::new(), validity: Some(run.validity.validity), page: Some(page) }
    });
}

/// Runs a checked load.
///
/// # Errors
///
/// As [`load`].
pub fn run_load(load: &Load, narrate: fn(&str)) -> Result<Exit, Failed> {
    let mut sink = load.output.open().map_err(refused)?;
    let Taken { run, record } = take_once(load, narrate)?;
    let text = render(&run, load.output.format, load.output.color, load.output.time_unit);
    let written = sink.write(text.as_bytes()).map_err(failed);
    show_on_page(&run);
    // Also when the result could not be written: this is where it can still be had.
    if let Some(Record { path, .. }) =
        record.as_ref().filter(|_| load.output.format != Format::Quiet || written.is_err())
    {
        narrate(&format!("record: {}", on_one_line(&path.display().to_string())));
    }
    written?;
    if let Some(problem) = record.and_then(|record| record.problem(INCOMPLETE)) {
        return Err(failed(problem));
    }
    for line in why_invalid(&run, load.output.format).iter().chain(&not_tls(load, &run)) {
        narrate(line);
    }
    Ok(exit_of(&run.ending, run.validity.validity))
}

/// Makes the one run of a checked load, until its end or a signal.
///
/// # Errors
///
/// As [`load`].
pub(super) fn take_once(load: &Load, narrate: fn(&str)) -> Result<Taken, Failed> {
    load.notes.iter().for_each(|note| narrate(&format!("note: {}", on_one_line(note))));
    let way = way(load).map_err(refused)?;
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let _presence = Presence::announce(narrate);
    pushes::during(&load.output.pushes, narrate, |feed| {
        take_as(Kind::Run, load, (&way, feed), &control, narrate)
    })
}

/// A run and its record.
pub(super) struct Taken {
    pub(super) run: Run,
    /// `None` if the run is not saved.
    pub(super) record: Option<Record>,
}

/// Makes the run of a trial and saves its record, whose name is returned. Its figures go to `feed` meanwhile.
///
/// # Errors
///
/// What failed on this machine.
pub(super) fn take(
    load: &Load,
    way: &HttpConfig,
    feed: Option<Feed>,
    control: &Control,
) -> Result<(Run, Option<PathBuf>), Failed> {
    let Taken { run, record } = take_as(Kind::Trial, load, (way, feed), control, |_| {})?;
    if let Some(problem) = record.as_ref().and_then(|record| record.problem(INCOMPLETE_TRIAL)) {
        return Err(failed(problem));
    }
    Ok((run, record.map(|record| record.path)))
}

/// The same for the driver of trials, without any output.
///
/// # Errors
///
/// As [`take`].
pub(super) fn loaded(
    load: &Load,
    way: &HttpConfig,
    feed: Option<Feed>,
    control: &Control,
) -> Result<Loaded, Failed> {
    let (run, record) = take(load, way, feed, control)?;
    let record = record.map(|path| on_one_line(&path.display().to_string()));
    Ok(Loaded { run, record, iteration: None })
}

fn take_as(
    kind: Kind,
    load: &Load,
    (way, feed): (&HttpConfig, Option<Feed>),
    control: &Control,
    narrate: fn(&str),
) -> Result<Taken, Failed> {
    if let Some(choice) = &load.fleet {
        return take_of_fleet(kind, load, choice, control, narrate);
    }
    // Before the head, which has the time of the start.
    let observer = observe::start(&load.observe, load.plan.duration(), narrate)?;
    let head = head(load);
    if let Some(note) = other_load::note() {
        control.note(note);
    }
    let (journal, record) = journal(kind, load, &head, narrate)?.unzip();
    let run = measure(load, head, (way, feed), (journal, observer), control, narrate)?;
    Ok(Taken { run, record })
}

/// The run of a fleet, merged here.
fn take_of_fleet(
    kind: Kind,
    load: &Load,
    choice: &FleetChoice,
    control: &Control,
    narrate: fn(&str),
) -> Result<Taken, Failed> {
    let started = clock::wall();
    let record = match open(kind, load, started)? {
        Ok(record) => Some(record),
        Err(warning) => {
            narrate(&format!("warning: {}", on_one_line(&warning)));
            None
        }
    };
    let name = name(load);
    let about = About { title: load.title.clone(), started, name };
    let place = Place {
        record,
        progress: load.output.progress,
        unit: load.output.time_unit,
        keeps_copies: matches!(kind, Kind::Run),
    };
    let bytes = UrlJob::of(load).map(|job| Work::Url(Box::new(job))).and_then(Work::to_bytes);
    let mut bytes = Some(bytes.map_err(refused)?);
    let made = fleet::run::Load {
        lasts: load.plan.duration().map(|lasts| lasts.saturating_add(load.plan.grace)),
        job: Box::new(move || bytes.take().map(Ok)),
        keeps_job: false,
        listener: None,
    };
    let Done { run, path, .. } = fleet::run::take(made, choice, &about, place, control, narrate)?;
    Ok(Taken { run, record: path.map(Record::merged) })
}

/// Makes the part of a load that an agent has, and writes its record. Returns why the record is incomplete, if it is.
///
/// # Errors
///
/// What failed on this machine.
pub(crate) fn make_part(load: &Load, control: &Control) -> Result<Option<String>, Failed> {
    let way = way(load).map_err(refused)?;
    let Taken { record, .. } = take_as(Kind::Run, load, (&way, None), control, |_| {})?;
    let Some(record) = record else {
        return Err(failed(Problem::new("the record cannot be written", "")));
    };
    Ok(record.problem("").map(|problem| problem.what))
}

/// What a saved run is named after.
fn name(load: &Load) -> String {
    let host = load.targets.first().map_or_else(|| "unix".to_owned(), target::Target::place);
    load.output.name.clone().unwrap_or(host)
}

/// The file of the record.
fn open(kind: Kind, load: &Load, started: Nanos) -> Result<Result<NewRecord, String>, Failed> {
    let (named, store) =
        (load.output.record.as_deref(), Store::of_process().map(|store| store.of_kind(kind)));
    store::open_record(named, store.as_ref(), started, &name(load)).map_err(refused)
}

/// The record with its head written; none when it cannot be saved and no file was named for it.
fn journal(
    kind: Kind,
    load: &Load,
    head: &Head,
    narrate: fn(&str),
) -> Result<Option<(FileJournal<File>, Record)>, Failed> {
    let opened = open(kind, load, head.started)?;
    match opened {
        Ok(opened) if load.agent.is_some() => Ok(Some(journal::waiting(opened, head))),
        opened => Ok(journal::begin(opened, head, narrate)),
    }
}

fn measure(
    load: &Load,
    head: Head,
    (way, feed): (&HttpConfig, Option<Feed>),
    (journal, observer): (Option<FileJournal<File>>, Option<Box<dyn Observer>>),
    control: &Control,
    narrate: fn(&str),
) -> Result<Run, Failed> {
    let unable = |error: &dyn std::fmt::Display| failed(Problem::new(error.to_string(), ""));
    let rests = !load.plan.is_open();
    let requests = RequestSet::prepare(
        load.requests.clone(),
        &way.defaults,
        load.seed_of_choice(),
        rests,
        &load.allowed_hosts,
    );
    let requests =
        Arc::new(requests.ok_or_else(|| refused(Problem::new("there is nothing to send", "give a URL")))?);
    let (sender, events) = sync_channel(live::BACKLOG);
    let live = Live::start(load.output.progress, load.output.time_unit, events, control.clone())
        .map_err(|error| unable(&error))?;
    let journal = journal.map(|journal| Box::new(journal) as Box<_>);
    let feed = feed.map(|feed| feed.listen(load.plan.endpoints.clone())).transpose()?;
    let (listening, listener) = feed.unzip();
    let events = std::iter::once(sender).chain(listener).collect();
    let listeners = Listeners { journal, events, observer, metrics: None };
    let run = run::run(head, &requests, way, control, listeners);
    if let Some(listening) = listening {
        listening.end();
    }
    let warnings = live.finish(run.as_ref().ok());
    for warning in &warnings {
        narrate(&format!("warning: {}", on_one_line(warning)));
    }
    run.map_err(|error| unable(&error))
}

/// What a one-liner accepts that watches events.
const EVENT_TYPES: &str = "text/event-stream, application/x-ndjson";

/// How requests are sent; checks the TLS settings.
pub(super) fn way(load: &Load) -> Result<HttpConfig, Problem> {
    let needs_tls = load.requests.iter().any(|request| request.url.scheme() == "https");
    let may_redirect = load.http.redirects > 0;
    let is_secure = |proxy: &Arc<Proxy>| proxy.kind == ProxyKind::Https;
    let tls = (needs_tls || may_redirect || load.http.proxy.as_ref().is_some_and(is_secure))
        .then(|| tls::configure(&load.http.tls, load.http.version))
        .transpose()
        .map_err(|error| Problem::new(error.to_string(), "check --cacert, --cert and --key"))?;
    let defaults = Defaults {
        keep_alive: load.http.keep_alive,
        accept: if load.http.events.is_some() { EVENT_TYPES } else { "*/*" },
        accept_encoding: load.http.decode,
        proxy: load.http.proxy.clone(),
        ..Defaults::default()
    };
    let http2 = (load.http.version == HttpVersion::One).then_some(Http2Offer::OnRequest);
    Ok(HttpConfig { settings: Arc::new(load.http.clone()), defaults, tls, http2 })
}

fn head(load: &Load) -> Head {
    let addresses = load.targets.iter().flat_map(|target| &target.addresses);
    let local: Vec<Option<bool>> = addresses.map(|address| host::is_local(address.ip())).collect();
    // A Unix socket has no address and is always on this machine.
    let co_located = if local.contains(&Some(true)) || local.is_empty() {
        Some(true)
    } else {
        local.iter().all(Option::is_some).then_some(false)
    };
    Head {
        measured_from: load.plan.warm_up,
        plan: load.plan.clone(),
        title: load.title.clone(),
        started: clock::wall(),
        build: build(),
        machine: host::machine(),
        co_located,
        segment: load.share.as_ref().map(|share| SegmentOf { agent: load.agent.clone(), ..share.into() }),
        fleet: None,
        http2_streams: (load.http.version == HttpVersion::Two).then_some(load.http.streams),
    }
}

/// A hint for `https://` where the server does not speak TLS: nothing was answered, and TLS was why.
fn not_tls(load: &Load, run: &Run) -> Option<String> {
    let tally = run.measured.all();
    let failed = tally.faults.iter().any(|tally| tally.fault == Fault::TlsHandshake);
    let https = load.requests.first().is_some_and(|request| request.url.scheme() == "https");
    let answered = !tally.status.is_empty();
    (https && failed && !answered && load.output.format != Format::Quiet).then(|| {
        "hint: the TLS handshake failed; if the server speaks plain HTTP on this port, write http://"
            .to_owned()
    })
}

/// Exit code of a run: its validity has precedence over the way it ended.
pub(super) fn exit_of(ending: &Ending, state: Validity) -> Exit {
    match (ending, state) {
        (_, Validity::Invalid) => Exit::Invalid,
        (Ending::Interrupted | Ending::Aborted, _) => Exit::Interrupted,
        _ => Exit::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_of_invalid_decides_about_the_exit_code_and_then_the_way_the_run_ended() {
        for (ending, state, exit) in [
            (Ending::Completed, Validity::Valid, Exit::Ok),
            (Ending::Completed, Validity::Suspect, Exit::Ok),
            (Ending::Completed, Validity::Invalid, Exit::Invalid),
            (Ending::Interrupted, Validity::Valid, Exit::Interrupted),
            (Ending::Aborted, Validity::Suspect, Exit::Interrupted),
            (Ending::Interrupted, Validity::Invalid, Exit::Invalid),
        ] {
            assert_eq!(exit_of(&ending, state), exit, "{ending:?}, {state:?}");
        }
    }
}
