//! Brings up what a study declares and takes it down whatever happens: services, private PostgreSQL
//! clusters and their replicas, Redis, CPU placement, state reset between trials.
//!
//! What is brought up is declared in `knee_core::rig`; a [`Rig`] is what stands. Does not decide when a trial
//! runs, does not measure, and leaves nothing behind: no process, no port, no folder. How that is kept when
//! the program itself is killed stands in [`guard`].

mod declaration;
mod error;
mod exit;
mod folder;
pub mod guard;
mod hands;
mod keeper;
mod place;
mod placement;
mod platform;
mod postgres;
mod program;
mod ready;
mod redis;
mod rig;
mod service;
mod source;
mod stepdown;

pub use declaration::GENERATOR_WEIGHT;
pub use error::Error;
pub use exit::Exit;
pub use placement::NotHere;
pub use rig::{Options, Overrides, Rig, Running, Store};
