//! Runs k6 scripts: what they export becomes a plan, a workload and k6's view of the result.
//!
//! Does not decide when an iteration is due; the engine does.

#![allow(
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    reason = "functions that scripts call take what QuickJS hands over, by value and in its lifetime"
)]
#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests expect exact values and build what they pass in place")
)]

pub mod data;

pub mod digest;

pub mod encoding;

pub mod event_loop;

pub mod gjson;

pub mod html;

pub mod http;

pub mod json;

pub mod loader;

pub mod metric;

pub mod module;

pub mod observe;

pub mod op;

pub mod options;

pub mod output;

pub mod program;

pub mod runtime;

pub mod session;

pub mod state;

pub mod summary;

pub mod threshold;

pub mod vu;

pub mod workload;

pub mod world;
