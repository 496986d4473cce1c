//! How a connection waits while another one writes: the switch `busy_wait`.
//!
//! Does not decide whether SQLite asks at all: for a deferred transaction that has read before, it does not.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::config::BusyWait;
use crate::counter::Counters;
use crate::runtime_lock;

/// How long either way waits at the most.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause of the yielding way.
const PAUSE: Duration = Duration::from_micros(60);

/// Tells a connection how to wait.
///
/// # Errors
/// SQLite does not take the setting.
pub fn install(conn: &mut Connection, wait: BusyWait, counters: &Arc<Counters>) -> rusqlite::Result<()> {
    match wait {
        // SQLite's own: it sleeps 1, 2, 5, 10 ... 100 ms, inside the call, so the runtime lock stays where it is.
        BusyWait::BlockingTimeout5000 => conn.busy_timeout(PATIENCE),
        BusyWait::Yielding60us => {
            let counters = Arc::clone(counters);
            let mut since = now();
            conn.busy_handler(Some(move |before: i32| {
                if before == 0 {
                    since = now();
                }
                counters.yields.one();
                runtime_lock::give_away(|| std::thread::sleep(PAUSE));
                now().duration_since(since) < PATIENCE
            }))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a lab shares no clock with the instrument")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
