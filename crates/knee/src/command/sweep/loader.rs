//! The load of a sweep: the interface besides running a step.
//!
//! Does not send anything.

use knee_core::fixture::division::Division;
use knee_driver::sweep::StepSource;
use knee_k6::output::interval::About;
use knee_study::sweep::{Step, StepLoad};

use crate::command::failed::Failed;

/// What the figures of a step have as tags: steps of the same load have the same ones.
pub fn about(step: &Step) -> About {
    let (name, level) = match step.load {
        StepLoad::ArrivalRate(rate) => ("arrival_rate", shown(rate)),
        StepLoad::Connections(count) => ("connections", count.to_string()),
    };
    About { tags: vec![(name.to_owned(), level)], ..About::default() }
}

/// A rate with at most two digits behind the point.
fn shown(rate: f64) -> String {
    let text = format!("{rate:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Sends the load of a sweep's steps.
pub trait Loader: StepSource {
    /// Title of the target.
    fn title(&self) -> String;

    /// Whether it is on this machine; `None` if that is unknown.
    fn co_located(&self) -> Option<bool>;

    /// Processes of the service that were started for the sweep.
    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// How the CPUs are divided; `None` if nothing was started for the sweep.
    fn division(&self) -> Option<Division> {
        None
    }

    /// What decides about the service and its load besides the command line; saved steps belong to it. Can contain
    /// credentials.
    fn declared(&self) -> String {
        String::new()
    }

    /// The command that loads it once, without an amount; `None` if no short one does.
    fn again(&self) -> Option<String> {
        None
    }

    /// Cleans up after the last step.
    fn end(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_as_short_as_it_can_be() {
        for (rate, text) in [(500.0, "500"), (0.5, "0.5"), (1_234.567, "1234.57"), (10.0, "10")] {
            assert_eq!(shown(rate), text);
        }
    }
}
