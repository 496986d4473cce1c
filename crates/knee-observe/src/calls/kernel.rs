//! Asks the kernel for its TCP sockets by `sock_diag`, as `ss -ti` does.
//!
//! Asks for established and listening sockets only, so that those that wait for their end cost nothing. Understands
//! nothing; [`super::diag`] does.

use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::diag::{self, Dump, INET, INET6};
use super::socket::Socket;

/// Bytes of one answer of the kernel, which has many sockets.
const ANSWER_MAX: usize = 64 * 1_024;

/// The kernel answers at once.
const WITHIN: Duration = Duration::from_secs(1);

/// The TCP sockets of this machine that are established or listen; `None` if there are more than `most`.
pub(super) fn sockets(most: usize) -> Result<Option<Vec<Socket>>, String> {
    // A socket of its own for each look: a list that was given up in the middle ends with it.
    let socket = open().map_err(|error| format!("the kernel cannot be asked: {error}"))?;
    let mut sockets = Vec::new();
    for family in [INET, INET6] {
        if !dump(&socket, family, most, &mut sockets)? {
            return Ok(None);
        }
    }
    Ok(Some(sockets))
}

fn open() -> rustix::io::Result<OwnedFd> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(WITHIN))?;
    Ok(socket)
}

/// Adds the sockets of one family; whether there are not too many.
fn dump(socket: &OwnedFd, family: u8, most: usize, sockets: &mut Vec<Socket>) -> Result<bool, String> {
    let failed = |error: rustix::io::Errno| format!("the kernel does not answer: {error}");
    send(socket, &diag::request(family), SendFlags::empty()).map_err(failed)?;
    let mut answer = vec![0_u8; ANSWER_MAX];
    loop {
        let received = retry_on_intr(|| recv(socket, answer.as_mut_slice(), RecvFlags::empty()));
        let (bytes, _) = received.map_err(failed)?;
        let end = diag::read(&answer[..bytes], sockets).map_err(|error| error.to_string())?;
        if sockets.len() > most {
            return Ok(false);
        }
        if end == Dump::Ended {
            return Ok(true);
        }
    }
}
