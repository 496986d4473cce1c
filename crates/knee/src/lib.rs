//! The parts of the `knee` program: arguments, settings, screens, signals, the store, exit codes.
//!
//! Does not measure, calculate or draw reports; `knee-engine`, `knee-core` and `knee-report` do.
//! This is the only crate that prints, reads the environment, handles signals, writes files or exits.
//!
//! Read in the order of a run: the command line, its meaning, where the run is saved, what is shown meanwhile, how it
//! ends.

pub mod problem;

pub mod args;

pub mod settings;

pub mod exit;

pub mod store;

pub mod catalog;

pub mod fetch;

pub mod fleet;

pub mod signals;

pub mod other_load;

pub mod stderr;

pub mod live;

mod web;

pub mod demo;

pub mod command;
