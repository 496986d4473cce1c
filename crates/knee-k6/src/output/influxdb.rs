//! Every sample as a point of InfluxDB 1, with k6's settings and names: `-o influxdb=URL/DATABASE`.
//!
//! [`mod@line`] writes points, on the thread that writes samples. [`push`] sends them, on threads of its own: a server that is
//! slow or away costs points, which are counted, and never holds the load up. Loads without single samples get a point
//! for each metric and interval, whose fields are [`figures`]. Does not write to InfluxDB 2 or 3, which have other
//! interfaces.

mod config;
mod figures;
mod line;
mod push;
mod wire;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use push::Pusher;
