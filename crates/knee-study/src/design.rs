//! Which trial comes next, and what a pair of arms showed.
