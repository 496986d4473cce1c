//! What a user gets from a study: the order of its trials, verdicts, claims, and what becomes of what goes wrong.

mod bench;

mod claims;

mod conclusion;

mod course;

mod endpoint;

mod noise;

mod percentiles;

mod resource;

mod statement;

mod stored;
