//! Profiles where there are none: the source is refused, and the run goes on.
//!
//! Does not read anything.

use knee_core::unit::Nanos;

use crate::figures::Figures;
use crate::sampler::{Depth, Sampler, Unreadable};

/// A process that cannot be sampled here.
#[derive(Debug)]
pub(crate) struct Profile;

impl Profile {
    /// The process with this number.
    pub(crate) const fn new(_pid: u32) -> Self {
        Self
    }
}

impl Sampler for Profile {
    fn connect(&mut self) -> Result<(), Unreadable> {
        Err(Unreadable("only Linux samples processes, and not on every architecture".to_owned()))
    }

    fn read(&mut self, _: Nanos, _: Depth, _: &mut Figures) -> Result<(), Unreadable> {
        self.connect()
    }
}
