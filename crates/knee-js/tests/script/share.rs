//! Which conversations of a run meet a fault: one of twelve, every third one, or all.
//!
//! Knows no protocol.

/// Conversations of each run.
pub const ALL: u64 = 12;

/// A share of the conversations.
#[derive(Clone, Copy, Debug)]
pub enum Share {
    One,
    Third,
    All,
}

impl Share {
    /// Every share.
    pub const EACH: [Self; 3] = [Self::One, Self::Third, Self::All];

    /// Whether the conversation of this number, counted from zero, meets the fault.
    pub const fn has(self, number: u64) -> bool {
        match self {
            Self::One => number == 5,
            Self::Third => number % 3 == 1,
            Self::All => true,
        }
    }

    /// How many of [`ALL`] meet it.
    pub fn count(self) -> u64 {
        (0..ALL).filter(|number| self.has(*number)).count() as u64
    }
}
