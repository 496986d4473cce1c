//! Runs k6 scripts: what they export becomes a plan, a workload and k6's view of the result.
//!
//! Does not decide when an iteration is due; the engine does.

#![allow(
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    clippy::unused_self,
    reason = "functions that scripts call take what QuickJS hands over, by value and in its lifetime"
)]
#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    clippy::single_match_else,
    clippy::match_same_arms,
    clippy::type_complexity,
    clippy::struct_excessive_bools,
    clippy::similar_names,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::cast_possible_wrap,
    clippy::needless_for_each,
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    reason = "style of a young crate; each goes when its file is next touched"
)]
#![cfg_attr(
    test,
    allow(clippy::float_cmp, reason = "tests expect exact values and build what they pass in place")
)]

pub mod data;

pub mod event_loop;

pub mod http;

pub mod loader;

pub mod metric;

pub mod module;

pub mod observe;

pub mod op;

pub mod options;

pub mod program;

pub mod runtime;

pub mod session;

pub mod state;

pub mod threshold;

pub mod vu;

pub mod workload;

pub mod world;
