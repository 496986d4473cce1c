//! Turns a plan and a workload into a record, on time.
//!
//! Knows no JavaScript, no terminal and no database. After warm-up the hot path allocates
//! nothing, and memory depends on the plan, never on the number of requests.
//!
//! ```text
//! run ── one thread a worker ── conduct ── executors ── users ── http client
//!  │                                │
//!  └── collector ◄── intervals ── recorder
//! ```

pub mod run;

pub mod worker;

pub mod executor;

pub mod requests;

pub mod http;

pub mod loop_probe;

pub mod recorder;

pub mod endpoints;

pub mod timer;

pub mod deadline;

pub mod control;

pub mod host;
