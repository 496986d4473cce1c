//! Reports of a study's conclusion: terminal text and Markdown of the same document, pictures, JSON.
//!
//! [`Document::of`] writes every figure once, in the words of one module; [`text`](fn@text) and
//! [`markdown`](fn@markdown) only lay them out. Does
//! not judge and does not calculate: verdicts and intervals are part of the conclusion.

mod accounting;

mod block;

mod bound;

mod claims;

mod code;

pub mod comparison;

mod cpus;

mod document;

pub(crate) mod forest;

mod growth;

mod headline;

pub mod json;

mod provenance;

mod resource;

mod markdown;

mod measuring;

mod notes;

pub mod plot;

mod switches;

mod text;

mod value;

mod words;

pub use block::{Block, Document, Table};
pub use claims::summary;
pub use code::cause;
pub use cpus::division;
pub use document::LINES_MAX;
pub(crate) use forest::ForestRow;
pub(crate) use headline::trust;
pub use markdown::{UnclearMarkers, claims_begin, markdown, with_claims};
pub(crate) use markdown::{escaped, sentence_in_line};
pub(crate) use measuring::{day, machine, program};
pub use notes::notes;
pub use provenance::{Commands, Provenance, Session};
pub use text::text;
pub use value::change;
pub(crate) use value::{figure, middle as row_of};
pub(crate) use words::{result, verdict};
