//! Finds and reads scripts and their imported modules, and prepares them for compilation.
//!
//! Does not run anything. Modules of k6 itself are made in [`crate::module`].

pub mod absent;

pub mod cache;

pub mod commonjs;

pub mod compile;

pub mod export;

pub mod finder;

pub mod hash;

pub mod lock;

pub mod position;

pub mod remote;

pub mod require;

pub mod replacement;

pub mod specifier;

pub mod trouble;

pub mod syntax;

pub mod typescript;

pub mod uses;
