//! The JavaScript runtime of one VU: a world of its own, on a stack of its own.
//!
//! Knows QuickJS and stacks; does not know HTTP, scenarios or metrics.

pub mod fiber;

pub mod bytecode;

pub mod fault;

pub mod intrinsic;

pub mod memory;
