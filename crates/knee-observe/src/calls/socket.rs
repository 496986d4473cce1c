//! A TCP socket, and what it has sent and received.
//!
//! Plain data.

use std::net::SocketAddr;

/// A TCP socket at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    /// Its number; 0 if no process has accepted it.
    pub(super) inode: u32,
    pub(super) listens: bool,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// `None` of one that listens, or of an old kernel.
    pub(super) traffic: Option<Traffic>,
}

/// What a socket has sent and received, headers of TCP left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Milliseconds since data was sent and received last, in steps of the kernel's ticks.
    pub(super) sent_age: u32,
    pub(super) received_age: u32,
    /// Retransmissions left out.
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    /// Segments with data.
    pub(super) sent_segments: u32,
    pub(super) received_segments: u32,
    /// What waits to be sent.
    pub(super) unsent_bytes: u32,
}
