//! Ports for stores that a test starts.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports below those that systems give to outgoing connections: Linux begins at 32768, macOS at 49152.
const FIRST: u16 = 15_000;
const COUNT: u16 = 15_000;

/// A port of 127.0.0.1 that is free now, and that no outgoing connection takes before a store listens on it. Each call in
/// a process returns another one.
///
/// # Panics
///
/// When all of these ports are in use.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut ports = (0..COUNT).map(|_| candidate(process::id(), CALLS.fetch_add(1, Ordering::Relaxed)));
    let free = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.unwrap_or_else(|| panic!("each of {COUNT} ports from {FIRST} on is in use"))
}

/// The port of a call. Processes that run at the same time begin at different ports.
fn candidate(process: u32, call: u32) -> u16 {
    let offset = process.wrapping_mul(97).wrapping_add(call) % u32::from(COUNT);
    FIRST + offset as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_one_that_an_outgoing_connection_can_get() {
        for process in [0, 1, 4_711, u32::MAX] {
            for call in [0, 1, 14_999, u32::MAX] {
                assert!((FIRST..32_768).contains(&candidate(process, call)));
            }
        }
    }

    #[test]
    fn a_port_that_is_in_use_is_passed_over_and_none_comes_twice() {
        let taken: Vec<TcpListener> =
            (0..20).map(|_| TcpListener::bind(("127.0.0.1", free_port())).unwrap()).collect();
        let next = free_port();
        assert!(taken.iter().all(|listener| listener.local_addr().unwrap().port() != next));
    }
}
