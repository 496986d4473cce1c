//! A line of an output with its number, which findings name.
//!
//! Does not split texts; the readers get their lines from the file `block`.

/// Number, from 1, and text of a line.
pub type Line<'a> = (usize, &'a str);
