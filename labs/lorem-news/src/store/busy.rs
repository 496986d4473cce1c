//! How a connection waits while another one writes: the switch `busy_wait`.
//!
//! Does not apply to deferred transactions that have read before: SQLite fails them without calling the busy handler.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use crate::config::BusyWait;
use crate::counter::Counters;
use crate::runtime_lock;

/// Maximum wait.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Pause between attempts of the yielding wait.
const RETRY_INTERVAL: Duration = Duration::from_micros(60);

/// Installs the busy handler of a connection.
///
/// # Errors
/// SQLite rejects the setting.
pub fn install(conn: &mut Connection, wait: BusyWait, counters: &Arc<Counters>) -> rusqlite::Result<()> {
    match wait {
        // SQLite's own handler sleeps 1, 2, 5, 10 ... 100 ms inside the call, with the runtime lock held.
        BusyWait::BlockingTimeout5000 => conn.busy_timeout(MAX_WAIT),
        BusyWait::Yielding60us => {
            let counters = Arc::clone(counters);
            let mut since = now();
            conn.busy_handler(Some(move |before: i32| {
                if before == 0 {
                    since = now();
                }
                counters.yields.increment();
                runtime_lock::release_during(|| std::thread::sleep(RETRY_INTERVAL));
                now().duration_since(since) < MAX_WAIT
            }))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a lab shares no clock with the instrument")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
