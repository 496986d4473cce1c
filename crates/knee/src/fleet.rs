//! The load of a URL as a job for the agents of a fleet: the job, the part of it that an agent makes, and the record that
//! the controller makes of all parts.
//!
//! `knee_fleet` decides who does what and when; this module gives it the load.

pub mod job;

pub mod part;

pub mod run;

pub mod start;
