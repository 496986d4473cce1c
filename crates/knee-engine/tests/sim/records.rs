//! Records of simulated runs on disks that fail: what is written is right, and says what is missing.
//!
//! The intervals of the workers reach the collector in any order that threads can have.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use knee_core::clock::MonotonicClock;
use knee_core::event::Event;
use knee_core::generator::{GeneratorSample, LoopLag};
use knee_core::observation::{
    Batch, Encoder, Figure, FigureUnit, Observer, SeriesKind, Source, SourceKind, SourceState,
};
use knee_core::plan::Plan;
use knee_core::record::format::{GAVE_UP, ReadError};
use knee_core::record::run::{Reading, read};
use knee_core::record::{Build, Ending, Head, Machine, Run};
use knee_core::tally::{Accounting, Tally};
use knee_core::unit::Nanos;
use knee_engine::collector::{IntervalCollector, Listeners, WorkerInterval};
use knee_engine::control::Control;
use knee_engine::endpoints::Registry;
use knee_engine::journal::{FileJournal, Journal};
use knee_engine::worker::IntervalReport;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::disk::{Faults, SimFile};
use crate::harness::run_in_intervals;
use crate::laws::{random_plan, random_signal, random_target, with_seeds};

const RUNS: u64 = 500;

#[test]
fn records_of_thousands_of_runs_on_failing_disks_are_readable_and_say_what_is_missing() {
    with_seeds(RUNS, one_record);
}

/// Counts how often it was asked.
#[derive(Default)]
struct Counting {
    encoder: Encoder,
    asked: u64,
}

impl Observer for Counting {
    fn begin(&mut self, _: MonotonicClock) {}

    fn take(&mut self) -> Batch {
        if self.asked == 0 {
            let (name, kind, state) = ("counting".to_owned(), SourceKind::Host, SourceState::Read);
            let source = Source { name, kind, version: None, state, without: Vec::new(), left_out: 0 };
            self.encoder.add_source(source);
        }
        self.asked += 1;
        let figure = Figure {
            name: "asked".to_owned(),
            label: String::new(),
            unit: FigureUnit::Count,
            kind: SeriesKind::Counter,
            value: self.asked as f64,
        };
        self.encoder.add(0, Nanos::from_secs(self.asked), vec![figure]);
        self.encoder.take()
    }

    fn end(&mut self) -> Batch {
        self.take()
    }

    fn ask(&mut self, run: &Run) -> Batch {
        self.encoder.add_text(0, "intervals", "", &run.series.len().to_string());
        self.encoder.change_source(0, |source| source.without.push("asked".to_owned()));
        self.encoder.take()
    }
}

fn one_record(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let plan = random_plan(&mut random);
    let signal = random_signal(&mut random);
    let (outcomes, reports) = run_in_intervals(&plan, random_target(&mut random), signal);
    let order = random_order(&reports, &mut random);
    let head = head(&plan);
    let unsaved = collected(&head, &order, None, &mut random).0;
    // Requests of the warm-up that spanned the measurement are part of it.
    let together = |one: &Tally, other: &Tally| {
        let mut all = one.all();
        all.merge(&other.all());
        all
    };
    let recorded = together(&outcomes.warm_up, &outcomes.measured);
    assert!(together(&unsaved.warm_up, &unsaved.measured) == recorded, "the collector loses nothing");
    let asked = unsaved.observations.named("asked").next().map_or(0, |series| series.points.len());
    assert_eq!(asked, unsaved.series.len() + 1, "observers are asked once per interval and at the end");

    let learned = unsaved.observations.text(0, "intervals", "");
    assert_eq!(learned, Some(unsaved.series.len().to_string().as_str()), "observers ask about the whole run");
    assert_eq!(unsaved.observations.sources[0].without, ["asked"]);

    let (faults, disk_seed) = (Faults::random(&mut random), random.random());
    let file = SimFile::new(faults, disk_seed);
    let Ok(journal) = FileJournal::begin(file.clone(), &head) else {
        // Without its head it is no record, and the caller removes it.
        assert!(file.failed());
        return;
    };
    let trouble = journal.trouble();
    let (run, after_loss) = collected(&head, &order, Some((journal, file.clone())), &mut random);
    assert_eq!(run, unsaved, "an error of the disk never changes the run");

    let written = read(&*file.bytes()).expect("the head was written");
    check_what_a_process_reads(&file, &run, &written, trouble.get());
    for bytes in after_loss {
        check_after_power_loss(&bytes, &run);
    }
    let last = file.after_power_loss();
    check_after_power_loss(&last, &run);
    if trouble.get().is_none() {
        assert_eq!(last, file.bytes(), "a record that was reported as complete is on the disk");
    }
}

/// Checks what another process reads of the record right after the run.
fn check_what_a_process_reads(file: &SimFile, run: &Run, reading: &Reading, trouble: Option<String>) {
    let Reading { run: read, notes, damage, .. } = reading;
    assert!(damage.is_none(), "{damage:?}");
    assert_eq!(trouble.is_some(), file.failed(), "every error is reported: {trouble:?}");
    assert_eq!(read.measured.accounting().difference(), 0);
    assert_eq!(read.warm_up.accounting().difference(), 0);
    let Some(reason) = trouble else {
        assert_eq!(read, run);
        assert_eq!(notes[0].text, "noted before the run");
        return;
    };
    if read.ending != Ending::Truncated {
        // Only the sync failed: everything is there, but a power loss can still take it.
        assert_eq!(read, run);
        return;
    }
    assert_eq!(run.series[..read.series.len()], read.series, "what is there is right");
    if let Some(note) = notes.iter().find_map(|note| note.text.strip_prefix(GAVE_UP)) {
        assert_eq!(note, reason);
        let warning = format!("the record ends before the run did: {reason}");
        assert!(read.validity.warnings.iter().any(|one| one.message == warning), "{:?}", read.validity);
    }
}

/// Checks what is left when the power is lost at any time: whole intervals from the start, or nothing.
fn check_after_power_loss(bytes: &[u8], run: &Run) {
    match read(bytes) {
        Ok(Reading { run: read, damage, .. }) => {
            assert!(damage.is_none(), "{damage:?}");
            assert_eq!(run.series[..read.series.len()], read.series, "what is there is right");
            assert_eq!(read.measured.accounting().difference(), 0);
        }
        Err(ReadError::NoHead | ReadError::NotARecord) => {
            let kept = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            assert!(kept < head_bytes(&run.head), "{kept} bytes are no record");
        }
        Err(error) => panic!("{error}"),
    }
}

/// Length of a record that has nothing but its head.
fn head_bytes(head: &Head) -> usize {
    let file = SimFile::new(Faults::default(), 0);
    FileJournal::begin(file.clone(), head).expect("the disk has no faults");
    file.bytes().len()
}

/// The head of the record of a plan.
pub fn head(plan: &Plan) -> Head {
    Head {
        plan: plan.clone(),
        title: "simulated".to_owned(),
        started: Nanos::ZERO,
        build: Build { version: "0".to_owned(), commit: None, optimized: true },
        machine: Machine { cores: 8, ..Machine::default() },
        co_located: Some(false),
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: plan.warm_up,
    }
}

/// The reports of all workers, those of each worker in their order; a worker can be late by any number of intervals.
pub fn random_order(reports: &[Vec<IntervalReport>], random: &mut SmallRng) -> Vec<(usize, IntervalReport)> {
    let mut left: Vec<_> = reports.iter().map(|reports| reports.iter()).collect();
    let mut order = Vec::new();
    while left.iter().any(|reports| reports.len() > 0) {
        let worker = random.random_range(0..left.len());
        // Mostly the next one, sometimes several in a row.
        let row = if random.random_range(0..4) == 0 { random.random_range(1..5) } else { 1 };
        order.extend(left[worker].by_ref().take(row).map(|report| (worker, report.clone())));
    }
    order
}

/// The run as the collector sums it up, and what was on the disk when the power was lost at some moments.
pub fn collected(
    head: &Head,
    order: &[(usize, IntervalReport)],
    journal: Option<(FileJournal<SimFile>, SimFile)>,
    random: &mut SmallRng,
) -> (Run, Vec<Vec<u8>>) {
    let (journal, file) = journal.unzip();
    let control = Control::new();
    control.note("noted before the run");
    // A listener that takes nothing: its channel is full after the first event.
    let (sender, events) = sync_channel(1);
    let journal = journal.map(|journal| Box::new(journal) as Box<dyn Journal>);
    let observer: Option<Box<dyn Observer>> = Some(Box::<Counting>::default());
    let listeners = Listeners { journal, events: vec![sender], observer, metrics: None };
    let endpoints = Arc::new(Registry::new(&head.plan.endpoints));
    let workers = usize::from(head.plan.workers);
    let mut collector = IntervalCollector::new(head.clone(), &control, listeners, workers, endpoints);
    collector.begin(Nanos::ZERO);
    let mut after_loss = Vec::new();
    for (worker, report) in order {
        let interval = WorkerInterval {
            report: report.clone(),
            connections_open: 1,
            loop_lag: LoopLag::default(),
            cpu: None,
            co_located: None,
            secure_origins: Vec::new(),
            new_servers: Vec::new(),
            copies: Vec::new(),
        };
        let spare = collector.take(*worker, interval);
        assert_eq!(spare.measured.accounting(), Accounting::default(), "a spare share is empty");
        collector.publish_whole(|_, _| GeneratorSample::default());
        if random.random_range(0..8) == 0 {
            after_loss.extend(file.as_ref().map(SimFile::after_power_loss));
        }
    }
    assert!(collector.is_done());
    let run = collector.finish();
    assert!(matches!(events.try_recv(), Ok(Event::Started(_))));
    (run, after_loss)
}
