//! The service lorem-news.

fn main() {}
