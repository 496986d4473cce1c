//! Prometheus remote write, with k6's settings and names: `-o experimental-prometheus-rw`.
//!
//! [`series`] adds samples up, on the thread that writes samples. [`push`] sends what changed, on a thread of its own: an
//! endpoint that is slow or away costs pushes, which are counted, and never holds the load up. Does not sign requests
//! for AWS.

mod config;
mod message;
mod native;
mod push;
mod series;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use push::Pusher;
