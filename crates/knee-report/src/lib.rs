//! Turns a measured run into reports: terminal text, HTML, JSON and CSV.
//!
//! [`View::of`] computes everything that is shown, once; the modules beside it only lay it out.
//! Output depends on nothing but the input: no clock, no locale, no size of a terminal. Does not
//! print, does not open files, and does not judge a run (its validity is part of it).

pub mod clean;

pub mod number;

pub mod study;

pub mod view;

pub mod text;

pub mod json;

pub mod chart;

pub mod history;

pub mod html;

pub mod oha_json;

pub mod csv;

pub mod find;

pub mod kept;

pub mod locust;

pub mod page_data;

mod prose;

pub mod sweep;

pub use sweep::SweepView;
pub use view::View;
