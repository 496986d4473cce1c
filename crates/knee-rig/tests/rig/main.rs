//! The rig with real processes: services, PostgreSQL, Redis, and programs that are killed while they have one.
//!
//! What is installed decides nothing silently: a test that needs PostgreSQL or Redis fails with the line that
//! installs it, unless `KNEE_WITHOUT_POSTGRES=1` or `KNEE_WITHOUT_REDIS=1` says that this machine has none.

mod data;
mod fault;
mod postgres;
mod redis;
mod service;
mod survival;
mod world;
