//! Sums in the protocol of OpenTelemetry (OTLP), with k6's settings and names: `-o opentelemetry`.
//!
//! [`series`] adds samples up, on the thread that writes samples. [`push`] sends all series at each interval, on a thread of
//! its own, over [`http`] or [`grpc`]. Sums are always of the whole run so far (cumulative). Does not send traces or logs.

mod config;
mod grpc;
mod http;
mod message;
mod push;
mod series;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use push::Pusher;
