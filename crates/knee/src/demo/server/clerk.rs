//! The workers of the demo server: how long each request keeps one of them busy.
//!
//! Does not answer.

use std::sync::{Mutex, PoisonError};
use std::thread;

use knee_core::unit::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Knows how long each request takes, and has the workers do it.
pub struct Clerk {
    service_time: Nanos,
    random: Mutex<ChaCha8Rng>,
}

impl Clerk {
    /// Service times with this mean, which `seed` decides.
    pub fn new(service_time: Nanos, seed: u64) -> Self {
        Self { service_time, random: Mutex::new(ChaCha8Rng::seed_from_u64(seed)) }
    }

    /// Waits for a worker and for the time it takes.
    pub async fn work(&self) {
        let duration = self.draw();
        // A worker's thread can be lost only while the runtime shuts down.
        let _ = tokio::task::spawn_blocking(move || thread::sleep(duration.into())).await;
    }

    /// The next service time: the inverse of the exponential distribution at a uniform number.
    pub(super) fn draw(&self) -> Nanos {
        let bits = self.random.lock().unwrap_or_else(PoisonError::into_inner).next_u64();
        // 53 bits make every double in (0, 1] possible and zero, whose logarithm is infinite, not.
        let uniform = ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
        Nanos::from_secs_f64(-uniform.ln() * self.service_time.as_secs_f64())
    }
}
