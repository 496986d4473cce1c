//! The load of a sweep: the interface besides running a step.
//!
//! Does not send anything.

use knee_driver::sweep::StepSource;

use crate::command::failed::Failed;

/// Sends the load of a sweep's steps.
pub trait Loader: StepSource {
    /// Title of the target.
    fn title(&self) -> String;

    /// Whether it is on this machine; `None` if that is unknown.
    fn co_located(&self) -> Option<bool>;

    /// The command that loads it once, without an amount; `None` if no short one does.
    fn again(&self) -> Option<String> {
        None
    }

    /// Cleans up after the last step.
    fn end(&mut self) -> Result<(), Failed> {
        Ok(())
    }
}
