//! The messages of `sock_diag`: a request for all sockets of a family, and what the kernel answers.
//!
//! Pure. Numbers are in the byte order of the machine, addresses and ports in that of the network (`linux/netlink.h`,
//! `linux/inet_diag.h`, `struct tcp_info` in `linux/tcp.h`). Never trusts a length of an answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::socket::{Socket, Traffic};

/// Families of addresses: IPv4 and IPv6.
pub(super) const INET: u8 = 2;
pub(super) const INET6: u8 = 10;

/// Bytes of the header of a message, of the request behind it, and of one socket.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const SOCKET: usize = 72;

/// Types of messages.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const BY_FAMILY: u16 = 20;

/// `NLM_F_REQUEST | NLM_F_DUMP`.
const FLAGS: u16 = 0x301;
/// The protocol TCP.
const TCP: u8 = 6;
/// The attribute that has a `tcp_info`, and the bit that asks for it.
const INFO: u16 = 2;
const INFO_BIT: u8 = 1 << (INFO - 1);
/// States of sockets.
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;

/// Why an answer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DiagError {
    /// The kernel refuses.
    #[error("the kernel refuses to list sockets (error {0})")]
    Refused(i32),
    /// A message is shorter than it says.
    #[error("the kernel answers with something else than a list of sockets")]
    Malformed,
}

/// Whether a list of sockets goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dump {
    Continues,
    Ended,
}

/// Asks for the established and the listening sockets of a family.
pub(super) fn request(family: u8) -> [u8; HEADER + REQUEST] {
    let mut bytes = [0; HEADER + REQUEST];
    let states = (1_u32 << ESTABLISHED) | (1_u32 << LISTEN);
    bytes[0..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
    bytes[HEADER] = family;
    bytes[HEADER + 1] = TCP;
    bytes[HEADER + 2] = INFO_BIT;
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&states.to_ne_bytes());
    bytes
}

/// Adds the sockets of an answer. A socket that makes no sense is left out.
pub(super) fn read(mut answer: &[u8], sockets: &mut Vec<Socket>) -> Result<Dump, DiagError> {
    while !answer.is_empty() {
        let length = u32_at(answer, 0).ok_or(DiagError::Malformed)? as usize;
        let kind = u16_at(answer, 4).ok_or(DiagError::Malformed)?;
        let body = answer.get(HEADER..length).ok_or(DiagError::Malformed)?;
        match kind {
            // A kernel without `sock_diag` for TCP ends a list that has not begun, with an error.
            DONE => return refusal(body).filter(|code| *code < 0).map_or(Ok(Dump::Ended), refused),
            ERROR => return refusal(body).map_or(Err(DiagError::Malformed), refused),
            BY_FAMILY => sockets.extend(socket(body)),
            _ => {}
        }
        answer = answer.get(aligned(length)..).unwrap_or_default();
    }
    Ok(Dump::Continues)
}

/// The code of an error: below zero, or zero for none.
fn refusal(body: &[u8]) -> Option<i32> {
    u32_at(body, 0).map(u32::cast_signed)
}

const fn refused(code: i32) -> Result<Dump, DiagError> {
    Err(DiagError::Refused(code.saturating_neg()))
}

fn socket(body: &[u8]) -> Option<Socket> {
    let family = *body.first()?;
    let listens = match *body.get(1)? {
        ESTABLISHED => false,
        LISTEN => true,
        _ => return None,
    };
    let end =
        |at: usize, port: usize| Some(SocketAddr::new(address(family, body, at)?, port_at(body, port)?));
    Some(Socket {
        inode: u32_at(body, SOCKET - 4)?,
        listens,
        local: end(8, 4)?,
        remote: end(24, 6)?,
        traffic: attribute(body.get(SOCKET..)?, INFO).filter(|_| !listens).and_then(traffic),
    })
}

/// An address; one of IPv4 that IPv6 contains is one of IPv4.
fn address(family: u8, body: &[u8], at: usize) -> Option<IpAddr> {
    match family {
        INET => Some(IpAddr::V4(Ipv4Addr::from(bytes_at::<4>(body, at)?))),
        INET6 => Some(IpAddr::V6(Ipv6Addr::from(bytes_at::<16>(body, at)?)).to_canonical()),
        _ => None,
    }
}

/// The value of an attribute.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(attributes, 0)?);
        let value = attributes.get(4..length)?;
        if u16_at(attributes, 2)? == wanted {
            return Some(value);
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

/// Reads a `tcp_info`. One without `tcpi_bytes_retrans` is of a kernel before 4.19: what was acknowledged counts as
/// sent.
fn traffic(info: &[u8]) -> Option<Traffic> {
    let sent = u64_at(info, 200).zip(u64_at(info, 208)).map(|(sent, again)| sent.saturating_sub(again));
    Some(Traffic {
        sent_age: u32_at(info, 44)?,
        received_age: u32_at(info, 52)?,
        sent_bytes: sent.or_else(|| u64_at(info, 120))?,
        received_bytes: u64_at(info, 128)?,
        received_segments: u32_at(info, 152)?,
        sent_segments: u32_at(info, 156)?,
        unsent_bytes: u32_at(info, 144)?,
    })
}

/// The place behind something of this length.
const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_ne_bytes)
}

fn port_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_be_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A message of this type.
    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; HEADER - 6]);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    /// A socket from port 40,000 to port 9,000, with an attribute that is not asked for before its `tcp_info`.
    fn body(family: u8, state: u8, addresses: [[u8; 16]; 2], info: &[u8]) -> Vec<u8> {
        let mut body = vec![family, state, 0, 0];
        body.extend(40_000_u16.to_be_bytes());
        body.extend(9_000_u16.to_be_bytes());
        body.extend(addresses.concat());
        body.resize(SOCKET - 4, 0);
        body.extend(3_379_345_u32.to_ne_bytes());
        body.extend([5, 0].map(u16::to_ne_bytes).concat());
        body.extend([7, 0, 0, 0]);
        body.extend([4 + info.len() as u16, INFO].map(u16::to_ne_bytes).concat());
        body.extend(info);
        body
    }

    fn info(length: usize) -> Vec<u8> {
        let mut info = vec![0; 280];
        let mut put = |at: usize, bytes: &[u8]| info[at..at + bytes.len()].copy_from_slice(bytes);
        for (at, value) in [(44, 80_u32), (52, 32), (144, 28), (152, 4), (156, 3)] {
            put(at, &value.to_ne_bytes());
        }
        for (at, value) in [(120, 31_u64), (128, 2_000), (200, 40), (208, 10)] {
            put(at, &value.to_ne_bytes());
        }
        info.truncate(length);
        info
    }

    fn v4(last: u8) -> [u8; 16] {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[10, 0, 0, last]);
        address
    }

    #[test]
    fn a_socket_is_read_with_what_it_sent_and_received() {
        let mut answer = message(BY_FAMILY, &body(INET, ESTABLISHED, [v4(1), v4(2)], &info(280)));
        answer.extend(message(BY_FAMILY, &body(INET, LISTEN, [v4(1), [0; 16]], &info(280))));
        answer.extend(message(BY_FAMILY, &body(INET, 7, [v4(1), v4(2)], &info(280))));
        let mut sockets = Vec::new();
        assert_eq!(read(&answer, &mut sockets), Ok(Dump::Continues));
        assert_eq!(read(&message(DONE, &[0; 4]), &mut sockets), Ok(Dump::Ended));
        let [connected, listening] = sockets.as_slice() else { panic!("{sockets:?}") };
        assert_eq!(connected.remote.to_string(), "10.0.0.2:9000");
        assert_eq!((connected.local.port(), connected.inode, connected.listens), (40_000, 3_379_345, false));
        let traffic = Traffic {
            sent_age: 80,
            received_age: 32,
            sent_bytes: 30,
            received_bytes: 2_000,
            sent_segments: 3,
            received_segments: 4,
            unsent_bytes: 28,
        };
        assert_eq!(connected.traffic, Some(traffic));
        assert!(listening.listens && listening.traffic.is_none());
    }

    #[test]
    fn an_old_kernel_shows_fewer_figures_and_a_very_old_one_none() {
        let of = |length: usize| {
            let mut sockets = Vec::new();
            let answer = message(BY_FAMILY, &body(INET, ESTABLISHED, [v4(1), v4(2)], &info(length)));
            read(&answer, &mut sockets).unwrap();
            sockets[0].traffic.map(|traffic| traffic.sent_bytes)
        };
        assert_eq!([of(280), of(192), of(104)], [Some(30), Some(31), None]);
    }

    #[test]
    fn an_address_of_ipv4_within_ipv6_is_the_same_endpoint() {
        let mut mapped = [0; 16];
        mapped[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 2]);
        let mut sockets = Vec::new();
        let answer = message(BY_FAMILY, &body(INET6, ESTABLISHED, [mapped, mapped], &info(280)));
        read(&answer, &mut sockets).unwrap();
        assert_eq!(sockets[0].remote.to_string(), "10.0.0.2:9000");
    }

    #[test]
    fn a_refusal_has_the_number_of_its_error() {
        let refusal = message(ERROR, &(-2_i32).to_ne_bytes());
        assert_eq!(read(&refusal, &mut Vec::new()), Err(DiagError::Refused(2)));
        let ended = message(DONE, &(-2_i32).to_ne_bytes());
        assert_eq!(read(&ended, &mut Vec::new()), Err(DiagError::Refused(2)), "a list that has not begun");
        assert_eq!(read(&[1, 2, 3], &mut Vec::new()), Err(DiagError::Malformed));
    }

    proptest! {
        /// Whatever the kernel sends: reading ends, and an answer that is cut makes no socket of nothing.
        #[test]
        fn an_answer_that_is_cut_or_changed_is_no_trouble(
            cut in 0usize..400, place in 0usize..400, byte in any::<u8>(),
        ) {
            let mut answer = message(BY_FAMILY, &body(INET, ESTABLISHED, [v4(1), v4(2)], &info(280)));
            answer.truncate(cut);
            if let Some(changed) = answer.get_mut(place) {
                *changed = byte;
            }
            let mut sockets = Vec::new();
            let _ = read(&answer, &mut sockets);
            prop_assert!(sockets.len() <= answer.len() / (HEADER + SOCKET));
        }
    }
}
