//! The vocabulary of `knee`: what can be asked for, and what was measured.
//!
//! Everything here is pure: no I/O, no async, no threads. The one exception is
//! [`clock`], the only module of the project that reads time. Only what is
//! written to a record derives `serde`.
//!
//! Suggested reading order is the order of the modules below.

pub mod unit;

pub mod clock;

pub mod histogram;

pub mod outcome;

pub mod schedule;

pub mod amendment;

pub mod share;

pub mod plan;

pub mod allocation;

pub mod tally;

pub mod estimate;

pub mod generator;

pub mod metric;

pub mod interval;

pub mod observation;

pub mod sampled;

pub mod validity;

pub mod record;

pub mod fixture;

pub mod fitness;

pub mod event;

pub mod clean;
