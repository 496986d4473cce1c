//! From an error of the kernel or of a library to the fault that is counted.
//!
//! Does not decide what happens next (resend, reconnect, back off); the client does.

use std::io;

use knee_core::outcome::Fault;

/// Longest message that is kept, in characters.
const MESSAGE_MAX: usize = 200;

/// Why a request got no whole answer.
#[derive(Debug)]
pub struct Failure {
    /// What is counted.
    pub fault: Fault,
    /// What was said about it, for the sample of messages; often nothing more than the fault says.
    pub message: Option<String>,
    /// Which rule of the run forbade it, if one did.
    pub blocked: Option<Blocked>,
    /// What TLS has against it, where that is known more closely than by the fault.
    pub tls: Option<TlsProblem>,
}

/// What one side of a TLS session has against the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsProblem {
    /// Nobody who is trusted has signed the server's certificate.
    UnknownIssuer,
    /// The server's certificate is for other names.
    OtherName,
    /// The server's certificate is over, or has not begun.
    OutOfDate,
    /// The server has said that it does not want to go on.
    Alert,
}

/// What a rule of the run forbids to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A host name.
    Name,
    /// An address.
    Address,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, message: None, blocked: None, tls: None }
    }
}

impl Failure {
    /// A fault with the words of whoever noticed it. Words may come from the server: they are cut
    /// to [`MESSAGE_MAX`] characters, and control characters, with which they could reach into a
    /// terminal, are replaced.
    pub fn new(fault: Fault, message: impl std::fmt::Display) -> Self {
        let message = message.to_string();
        let harmless = message.chars().take(MESSAGE_MAX);
        let harmless =
            harmless.map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char });
        Self { fault, message: Some(harmless.collect()), blocked: None, tls: None }
    }

    /// A rule of the run forbids it. The way to the host is closed, by whomever.
    pub fn blocked(blocked: Blocked, message: impl std::fmt::Display) -> Self {
        Self { blocked: Some(blocked), ..Self::new(Fault::Unreachable, message) }
    }

    /// An error while opening a connection.
    pub fn opening(error: &io::Error) -> Self {
        let fault = match error.kind() {
            io::ErrorKind::ConnectionRefused => Fault::Refused,
            io::ErrorKind::TimedOut => Fault::ConnectTimeout,
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Fault::Unreachable,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Fault::Reset,
            _ => shortage(error).unwrap_or(Fault::NetworkOther),
        };
        Self::new(fault, error)
    }

    /// An error while opening a connection to a Unix socket.
    pub fn opening_unix(error: &io::Error) -> Self {
        match error.kind() {
            // A socket that is not there, that nobody may use, or whose queue of new connections is
            // full is refused as well.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::WouldBlock => {
                Self::new(Fault::Refused, error)
            }
            _ => Self::opening(error),
        }
    }

    /// An error on a connection that was open.
    pub fn exchanging(error: &io::Error) -> Self {
        let fault = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                Fault::Reset
            }
            io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Fault::Unreachable
            }
            _ => shortage(error).unwrap_or(Fault::NetworkOther),
        };
        Self::new(fault, error)
    }
}

/// What of this machine ran out, if that is what the error says.
fn shortage(error: &io::Error) -> Option<Fault> {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error)?;
    match errno {
        Errno::MFILE | Errno::NFILE => Some(Fault::DescriptorsExhausted),
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Some(Fault::PortsExhausted),
        Errno::NOBUFS | Errno::NOMEM => Some(Fault::BuffersExhausted),
        Errno::ACCESS | Errno::PERM | Errno::AFNOSUPPORT | Errno::INVAL => Some(Fault::GeneratorOther),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_out_on_this_machine_is_blamed_on_the_generator() {
        for (errno, fault) in [
            (rustix::io::Errno::MFILE, Fault::DescriptorsExhausted),
            (rustix::io::Errno::ADDRNOTAVAIL, Fault::PortsExhausted),
            (rustix::io::Errno::NOBUFS, Fault::BuffersExhausted),
            (rustix::io::Errno::CONNREFUSED, Fault::Refused),
            (rustix::io::Errno::HOSTUNREACH, Fault::Unreachable),
        ] {
            assert_eq!(Failure::opening(&errno.into()).fault, fault);
        }
    }

    #[test]
    fn a_local_firewall_is_not_the_server_but_a_forbidden_unix_socket_is() {
        let error: io::Error = rustix::io::Errno::ACCESS.into();
        assert_eq!(Failure::opening(&error).fault, Fault::GeneratorOther);
        assert_eq!(Failure::opening_unix(&error).fault, Fault::Refused);
        assert_eq!(Failure::opening_unix(&rustix::io::Errno::AGAIN.into()).fault, Fault::Refused);
    }

    #[test]
    fn messages_are_short_and_cannot_reach_into_a_terminal() {
        let failure =
            Failure::new(Fault::BadRedirect, format!("\u{1b}]0;owned\u{9b}{}", "x".repeat(1 << 20)));
        let message = failure.message.unwrap();
        assert_eq!(message.chars().count(), MESSAGE_MAX);
        assert!(message.starts_with("\u{fffd}]0;owned\u{fffd}x"));
    }
}
