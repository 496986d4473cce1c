//! The places of connections: a limited number, which strangers lose to later connections.
//!
//! Any user of the machine can open connections, but only the owner has the token. So a connection that is not
//! admitted yet is closed when another one needs its place, the oldest first. Does not read or admit requests.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most connections at a time.
pub const PLACES_MAX: usize = 48;

/// All places.
#[derive(Debug, Default)]
pub struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    /// Number of connections that were admitted.
    admitted: usize,
    /// The others, with their numbers, oldest first.
    strangers: VecDeque<(u64, Arc<TcpStream>)>,
    /// The number of the next one.
    next: u64,
}

/// The place of one connection; free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    all: Arc<Places>,
    number: u64,
    admitted: bool,
}

impl Places {
    /// A place for a new connection. If all are taken, the oldest stranger is closed; `None` if there is no stranger.
    pub fn take(self: &Arc<Self>, stream: &Arc<TcpStream>) -> Option<Place> {
        let mut taken = self.lock();
        if taken.admitted + taken.strangers.len() >= PLACES_MAX {
            let (_, oldest) = taken.strangers.pop_front()?;
            // Its thread wakes and ends. If the other side has closed it already, that happens too.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = taken.next;
        taken.next += 1;
        taken.strangers.push_back((number, stream.clone()));
        drop(taken);
        Some(Place { all: self.clone(), number, admitted: false })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // Between the steps of a change nothing can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The request was admitted: the place is kept until the end. False if it is lost already.
    pub fn keep(&mut self) -> bool {
        let mut taken = self.all.lock();
        let Some(at) = taken.strangers.iter().position(|(number, _)| *number == self.number) else {
            return false;
        };
        taken.strangers.remove(at);
        taken.admitted += 1;
        drop(taken);
        self.admitted = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.all.lock();
        if self.admitted {
            taken.admitted -= 1;
        } else {
            taken.strangers.retain(|(number, _)| *number != self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A connection: this end of it and the other.
    fn connection(listener: &TcpListener) -> (Arc<TcpStream>, TcpStream) {
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Arc::new(listener.accept().unwrap().0), other)
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_an_admitted_connection_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = Arc::<Places>::default();
        let mut ends: Vec<_> = (0..=PLACES_MAX).map(|_| connection(&listener)).collect();
        let mut taken: Vec<_> =
            ends[..PLACES_MAX].iter().map(|(stream, _)| places.take(stream).unwrap()).collect();
        assert!(taken[0].keep());
        let mut last = places.take(&ends[PLACES_MAX].0).unwrap();
        // The second is closed, and its thread, which notices that late, is not admitted.
        assert_eq!(ends[1].1.read(&mut [0]).unwrap(), 0);
        assert!(!taken[1].keep() && taken[2].keep() && last.keep());
        drop(taken);
        drop(last);
        let taken = places.lock();
        assert_eq!((taken.admitted, taken.strangers.len()), (0, 0));
    }

    #[test]
    fn among_the_admitted_there_is_no_place_for_another() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = Arc::<Places>::default();
        let (stream, _other) = connection(&listener);
        let mut taken: Vec<_> = (0..PLACES_MAX).map(|_| places.take(&stream).unwrap()).collect();
        assert!(taken.iter_mut().all(Place::keep));
        assert!(places.take(&stream).is_none());
        drop(taken.pop());
        assert!(places.take(&stream).is_some());
    }
}
