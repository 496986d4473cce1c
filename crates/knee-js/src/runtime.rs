//! The JavaScript runtime of one VU, on its own stack.
//!
//! Knows QuickJS and stacks; does not know HTTP, scenarios or metrics.

pub mod fiber;

pub mod bytecode;

pub mod intrinsic;

pub mod lent;

pub mod memory;

pub mod stack;

pub mod thrown;
