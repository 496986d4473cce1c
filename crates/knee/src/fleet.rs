//! The load of a URL as a job for the agents of a fleet: what is sent to them, what of it an agent makes, and how a fleet's
//! run becomes a record here.
//!
//! `knee_fleet` decides who does what and when; this module gives it the load.

pub mod job;

pub mod part;

pub mod run;

pub mod start;
