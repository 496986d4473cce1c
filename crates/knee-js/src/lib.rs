//! Runs k6 scripts in QuickJS: one runtime and one stack per virtual user.
//!
//! Does not know what k6's options, metrics and summary mean (`knee-k6` does) and does not decide when an
//! iteration is due (the engine does).

#![allow(
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    reason = "functions that scripts call take what QuickJS hands over, by value and in its lifetime"
)]
#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests expect exact values and build what they pass in place")
)]

pub mod batch_queue;

mod counter;

pub mod event_loop;

mod exported;

pub mod handled;

pub mod loader;

pub mod module;

pub mod op;

pub mod program;

pub mod runtime;

pub mod session;

pub mod state;

pub mod vu;

pub mod workload;

pub mod world;
