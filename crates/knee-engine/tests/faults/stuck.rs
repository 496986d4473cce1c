//! A worker that never answers: code that it calls does not return.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use knee_core::event::Event;
use knee_core::plan::Stop;
use knee_core::record::Ending;
use knee_core::unit::Nanos;
use knee_engine::executor::{Iteration, User};
use knee_engine::http::settings::Settings;
use knee_engine::run::{HttpConfig, Listeners, run};
use knee_engine::worker::{UserContext, UserId, Workload};

use crate::drive::Drive;

/// Users of which the first keeps its worker's thread until `released` can be locked.
struct Stuck {
    released: Arc<Mutex<()>>,
    begun: SyncSender<()>,
}

struct StuckUser {
    load: Arc<Stuck>,
    number: u32,
    context_timer: knee_engine::timer::WorkerTimer,
}

impl Workload for Stuck {
    type User = StuckUser;
    type Prepared = ();

    fn prepare(self: &Arc<Self>, _vus: &[u32]) {}

    fn user(self: &Arc<Self>, context: &UserContext, (): &(), id: UserId) -> StuckUser {
        StuckUser { load: self.clone(), number: id.vu.unwrap_or(0), context_timer: context.timer.clone() }
    }
}

impl User for StuckUser {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        use knee_engine::timer::Timer as _;
        if self.number == 0 {
            let _ = self.load.begun.try_send(());
            drop(self.load.released.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.context_timer.sleep_until(iteration.cut.min(Nanos(iteration.due.0 + 1_000_000))).await;
        self.context_timer.now()
    }

    fn give_up(&mut self, _due: Nanos, _at: Nanos) {}
}

#[test]
fn a_worker_that_never_answers_does_not_hold_up_the_end_of_an_aborted_run() {
    let released = Arc::new(Mutex::new(()));
    let held = released.lock().unwrap();
    let mut drive = Drive::closed("http://127.0.0.1:9/", 0, 2);
    drive.stop = Stop::At(Nanos::from_secs(3_600));
    let (begun, has_begun) = sync_channel(1);
    let load = Arc::new(Stuck { released: released.clone(), begun });
    let http = HttpConfig {
        settings: Arc::new(Settings::default()),
        defaults: drive.defaults.clone(),
        tls: None,
        http2: None,
    };
    let (sender, events) = sync_channel(1_000);
    let control = drive.control.clone();
    let aborting = thread::spawn(move || {
        has_begun.recv().unwrap();
        control.abort();
    });
    let listeners = Listeners { journal: None, events: vec![sender], observer: None, metrics: None };
    let run = run(drive.head(), &load, &http, &drive.control, listeners).unwrap();
    assert_eq!(run.ending, Ending::Aborted);
    let warning = |event: Event| if let Event::Warning(text) = event { Some(text) } else { None };
    let warnings: Vec<String> = events.iter().filter_map(warning).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("1 of 2 workers did not answer"), "{warnings:?}");
    drop(held);
    aborting.join().unwrap();
}
