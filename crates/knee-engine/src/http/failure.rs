//! Maps an error of the kernel or of a library to the fault that is counted.
//!
//! Does not decide what happens next (resend, reconnect, back off); the client does.

use std::io;
use std::net::SocketAddr;

use knee_core::outcome::Fault;

/// Maximum length of a kept message, in characters.
const MESSAGE_MAX: usize = 200;

/// Why a request has no complete response.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The fault that is counted.
    pub fault: Fault,
    /// Message for the examples of this fault; `None` if it would add nothing to the fault.
    pub message: Option<String>,
    /// The rule of the run that forbade it, if one did.
    pub blocked: Option<Blocked>,
    /// The problem with TLS, if it is known more precisely than the fault.
    pub tls: Option<TlsProblem>,
    /// The system's error, if it was one.
    pub system: Option<SystemError>,
    /// The error of HTTP/2, if it was one.
    pub http2: Option<Http2Problem>,
    /// The problem with the proxy, if it was one. On the heap, because it is rare.
    pub proxy: Option<Box<ProxyProblem>>,
}

/// Why there is no way through a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyProblem {
    /// There is no connection to the proxy itself, at this address if it is known.
    Unreached(Option<SocketAddr>),
    /// It closed the connection instead of an answer to `CONNECT`.
    Closed,
    /// It answered `CONNECT` with this line, which is no HTTP/1.
    NotHttp(String),
    /// It answered `CONNECT` with another status than 200, and these words after the number.
    Answered(String),
    /// It speaks SOCKS.
    Socks {
        /// Its address, if it is known.
        proxy: Option<SocketAddr>,
        /// Host and port of the server.
        server: String,
        /// What went wrong.
        trouble: SocksTrouble,
    },
}

/// What goes wrong with a SOCKS proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksTrouble {
    /// It accepts none of the methods of authentication.
    NoMethod,
    /// It chose this method, which was not offered.
    Method(u8),
    /// It did not accept user and password, or they are too long for it.
    Login,
    /// It speaks this version.
    Version(u8),
    /// It did not connect, for the reason with this number (RFC 1928, section 6).
    Answer(u8),
    /// It answered with this unknown kind of address.
    Address(u8),
    /// The name of the server is too long for it.
    Name,
    /// The connection to it broke, or ended.
    Broken,
}

/// An error that HTTP/2 names by a number (RFC 9113, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Problem {
    /// What was ended.
    pub scope: Http2Scope,
    /// Why, by the number of the protocol.
    pub code: u32,
}

/// What an error of HTTP/2 ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http2Scope {
    /// The server takes no more requests on the connection.
    GoAway,
    /// One stream.
    Stream,
    /// The whole connection.
    Connection,
}

/// An error of the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemError {
    /// Its number.
    pub number: i32,
    /// What was being done.
    pub during: Operation,
}

/// An operation on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Connecting.
    Open,
    /// Reading a response.
    Read,
    /// Writing a request.
    Write,
}

/// Why one side of a TLS session refused the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsProblem {
    /// No trusted authority signed the server's certificate.
    UnknownIssuer,
    /// The server's certificate is for other names.
    OtherName,
    /// The server's certificate has expired or is not yet valid.
    OutOfDate,
    /// The server sent an alert with this number (RFC 8446, 6).
    Alert(u8),
    /// The server's first bytes are no TLS.
    NotTls,
    /// The server's first bytes are an HTTP response.
    PlainHttp,
    /// The server closed the connection during the handshake.
    Closed,
}

/// What a rule of the run blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A host name.
    Name,
    /// An address.
    Address,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, message: None, blocked: None, tls: None, system: None, http2: None, proxy: None }
    }
}

impl Failure {
    /// A fault with a message. Messages can come from the server: they are cut to [`MESSAGE_MAX`]
    /// characters, and control characters, which could control a terminal, are replaced.
    pub fn new(fault: Fault, message: impl std::fmt::Display) -> Self {
        let message = message.to_string();
        let harmless = message.chars().take(MESSAGE_MAX);
        let harmless =
            harmless.map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char });
        Self { message: Some(harmless.collect()), ..fault.into() }
    }

    /// A rule of the run blocks it: counts as unreachable.
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
        Self::of_system(fault, error, Operation::Open)
    }

    fn of_system(fault: Fault, error: &io::Error, during: Operation) -> Self {
        let system = error.raw_os_error().map(|number| SystemError { number, during });
        Self { system, ..Self::new(fault, error) }
    }

    /// An error while opening a connection to a Unix socket.
    pub fn opening_unix(error: &io::Error) -> Self {
        match error.kind() {
            // A socket that does not exist, that is forbidden, or whose accept queue is full counts
            // as refused too.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::WouldBlock => {
                Self::new(Fault::Refused, error)
            }
            _ => Self::opening(error),
        }
    }

    /// An error on an open connection, while `during` was being done.
    pub fn exchanging(error: &io::Error, during: Operation) -> Self {
        let fault = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                Fault::Reset
            }
            io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Fault::Unreachable
            }
            _ => shortage(error).unwrap_or(Fault::NetworkOther),
        };
        Self::of_system(fault, error, during)
    }
}

/// The fault for a resource of this machine that ran out, if the error means that.
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
    fn exhausted_resources_of_this_machine_are_faults_of_the_generator() {
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
    fn a_local_firewall_is_a_generator_fault_but_a_forbidden_unix_socket_is_refused() {
        let error: io::Error = rustix::io::Errno::ACCESS.into();
        assert_eq!(Failure::opening(&error).fault, Fault::GeneratorOther);
        assert_eq!(Failure::opening_unix(&error).fault, Fault::Refused);
        assert_eq!(Failure::opening_unix(&rustix::io::Errno::AGAIN.into()).fault, Fault::Refused);
    }

    #[test]
    fn messages_are_short_and_cannot_control_a_terminal() {
        let failure =
            Failure::new(Fault::BadRedirect, format!("\u{1b}]0;owned\u{9b}{}", "x".repeat(1 << 20)));
        let message = failure.message.unwrap();
        assert_eq!(message.chars().count(), MESSAGE_MAX);
        assert!(message.starts_with("\u{fffd}]0;owned\u{fffd}x"));
    }
}
