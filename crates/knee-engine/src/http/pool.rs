//! The idle connections of one client.
//!
//! Does not look at what arrived on them while they were idle; the client does before it uses one.

use std::rc::Rc;
use std::sync::Arc;

use super::connection::Connection;
use super::network::Network;
use super::origin::Origin;

/// A connection that is counted while it exists.
pub struct CountedConnection {
    /// The connection.
    pub connection: Connection,
    origin: Arc<Origin>,
    network: Rc<Network>,
}

impl CountedConnection {
    /// Counts a new connection to `origin`.
    pub fn new(connection: Connection, origin: Arc<Origin>, network: Rc<Network>) -> Self {
        network.count_opened(connection.peer().map(|peer| peer.address.ip()));
        Self { connection, origin, network }
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.network.count_closed();
    }
}

/// Idle connections; those of one-liners usually lead to one origin.
#[derive(Default)]
pub struct IdlePool {
    idle: Vec<CountedConnection>,
}

impl IdlePool {
    /// Takes the connection to `origin` that was added last.
    pub fn take(&mut self, origin: &Origin) -> Option<CountedConnection> {
        let place = self.idle.iter().rposition(|counted| *counted.origin == *origin)?;
        Some(self.idle.swap_remove(place))
    }

    /// Adds a connection.
    pub fn put(&mut self, counted: CountedConnection) {
        self.idle.push(counted);
    }

    /// Closes all.
    pub fn clear(&mut self) {
        self.idle.clear();
    }
}
