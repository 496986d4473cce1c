//! Brings up what a study declares and takes it down whatever happens: services, private PostgreSQL
//! clusters and their replicas, Redis, CPU placement, state reset between trials.
//!
//! What is brought up is declared in `knee_core::rig`. Does not decide when a trial runs, does not
//! measure, and leaves nothing behind: no process, no port, no folder.
