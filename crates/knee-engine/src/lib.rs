//! Turns a plan and a workload into a record, on time.
//!
//! Knows no JavaScript, no terminal and no database. After warm-up the request path allocates
//! nothing. Memory depends on the plan, never on the number of requests.
//!
//! ```text
//! run ── one thread per worker ── conduct ── executors ── users ── http client
//!  │                                │
//!  └── collector ◄── intervals ── recorder
//! ```

pub mod run;

pub mod collector;

pub mod sampled;

pub mod journal;

pub mod worker;

pub mod executor;

pub mod requests;

pub mod http;

pub mod loop_probe;

pub mod recorder;

pub mod endpoints;

pub mod secret;

pub mod steering;

pub mod timer;

pub mod deadline;

pub mod control;

pub mod host;
