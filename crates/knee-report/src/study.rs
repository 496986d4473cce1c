//! A study's conclusion as people read it: terminal text and Markdown of the same document.
//!
//! [`Document::of`] writes every figure once; [`text`] and [`markdown`] only place what it holds. Does not judge and does
//! not calculate: verdicts and intervals come with the conclusion.

pub mod comparison;

mod document;

mod figure;

mod markdown;

mod text;

pub use document::{Block, Document, Table};
pub use markdown::markdown;
pub use text::text;
