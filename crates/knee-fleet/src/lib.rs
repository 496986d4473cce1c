//! Makes many machines send one load: divides it among them, starts all at one moment, and copies what they measured.
//!
//! A *controller* has a load, and *agents* make it. Each agent writes an ordinary record on its own disk and publishes the
//! bytes of that file as it grows. The controller keeps a copy of each; `knee_core::record::merge` makes one record of
//! the copies. NATS carries the bytes; the files of the agents are the truth.
//!
//! [`agent`] and [`controller`] are state machines without a clock, a network or a file: everything that happens is an
//! input, everything to be done is an output. [`nats`] runs them over `JetStream` of NATS, and the tests run them over a
//! network that loses, repeats and reorders messages. Does not know what a load is: a job is bytes, of which the program
//! says what they would load ([`policy::Extent`]).

pub mod agent;

pub mod child;

pub mod controller;

pub mod copy;

pub mod growing;

pub mod name;

pub mod nats;

pub mod offset;

pub mod policy;

pub mod signature;

pub mod uplink;

pub mod wire;
