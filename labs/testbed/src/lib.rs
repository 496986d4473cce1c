//! What the tests of the labs need: a PostgreSQL and a Redis of their own, and programs as processes that end with the
//! test.
//!
//! Each function panics where it fails: its caller is a test. Knows none of the services: requests and data are theirs.
//! The product does not use it.

#![expect(
    clippy::missing_panics_doc,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test fails by a panic, as the text above says, and waits by the system's clock"
)]

mod copy;
mod port;
mod postgres;
mod process;
mod redis;

use std::time::Duration;

pub use copy::Filled;
pub use port::free_port;
pub use postgres::{Cluster, Frozen};
pub use process::{Listening, Running, children, fail, listen, signal, succeed};
pub use redis::Redis;

/// Time limit of every wait in the tests.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Time between two looks at something that is waited for.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until a condition holds; `what` says in the panic what was waited for.
pub async fn wait(what: &str, condition: impl AsyncFn() -> bool) {
    let trying = async {
        while !condition().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, trying).await.is_ok(), "{what}: waited for {TIMEOUT:?}");
}
