//! Decides the next trial and draws the conclusion: designs, statistics, verdicts, sweeps, capacity.
//!
//! A study or a sweep returns its next trial, takes the trial's measurement, and in the end draws the conclusion.
//! Pure: no clock, no I/O, no async; does not run a trial and does not lay out a report.

pub mod record_pair;

pub mod change_point;

pub mod compare;

pub mod cpu;

pub mod definition;

pub mod design;

pub mod estimand;

pub mod metric;

pub mod proof;

pub mod random;

pub mod sizing;

pub mod statistics;

pub mod study;

pub mod sweep;
