//! The service tickets.

fn main() {}
