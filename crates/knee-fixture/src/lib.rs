//! Starts everything that a study declares, and takes it down whatever happens: services, private PostgreSQL
//! clusters and their replicas, Redis, CPU placement, state reset between trials.
//!
//! `knee_core::fixture` has the declaration; a [`Fixture`] is the running result. Does not decide when a trial
//! runs, does not measure, and leaves nothing behind: no process, no port, no folder. [`supervisor`] does that
//! even when the program itself is killed.

mod activity;
mod capability;
mod declaration;
mod error;
mod exit;
mod fixture;
mod folder;
mod launcher;
mod overrides;
mod placeholder;
mod placement;
mod platform;
mod postgres;
mod program;
mod ready;
mod redis;
mod registry;
mod service;
mod source;
mod started;
mod statements;
pub mod supervisor;
mod unprivileged;

pub use activity::{Activity, ActivityProbe};
pub use capability::{cpu_split, try_cpu_limit, try_cpu_weight};
pub use declaration::{GENERATOR_WEIGHT, check_start};
pub use error::Error;
pub use exit::Exit;
pub use fixture::{Fixture, Options, Preparation, Running, Store};
pub use overrides::Overrides;
pub use placement::Unavailable;
pub use program::{find_program, find_stores};
pub use statements::{Executions, StatementId, StatementProbe, StatementText};
