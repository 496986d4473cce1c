//! The count of responses that no request asked for. Does not find them; [`super::transport`] does.

/// Responses that no request asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsolicited {
    /// How many.
    pub count: u32,
    /// Responses that can belong to other requests because of them.
    pub doubtful: u32,
}

impl Unsolicited {
    /// Adds one, on a connection with this many responses that can belong to other requests because of it.
    pub const fn add(&mut self, doubtful: u32) {
        self.count += 1;
        self.doubtful = self.doubtful.saturating_add(doubtful);
    }
}
