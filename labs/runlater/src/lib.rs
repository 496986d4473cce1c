//! Runlater: calls HTTP addresses at once, later or on a schedule, with every step of its tuning story as a switch.
//!
//! Knows nothing of what measures it.

pub mod config;
pub mod target;
