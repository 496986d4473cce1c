//! The commands of a Redis or Valkey server, without those of the observer.
//!
//! At a few responses per second, the observer sends more commands than the service. Does not judge them.

use knee_core::observation::OBSERVING_COMMANDS;

use crate::watched::{Rise, Watched};

/// The commands with the rises of the counter of this name, the largest first.
pub(crate) fn rises<'a>(redis: &Watched<'a>, name: &str) -> Vec<(&'a str, Rise)> {
    let mut rises = redis.rises(name);
    rises.retain(|(command, _)| !OBSERVING_COMMANDS.contains(command));
    rises
}
