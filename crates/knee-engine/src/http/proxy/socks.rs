//! Asks a SOCKS proxy for a connection: version 5 (RFC 1928), with a user and a password if the URL has them (RFC 1929).
//!
//! Sends names as they are, so the proxy resolves them, as Go does for `socks5` and `socks5h` alike.

use std::net::IpAddr;

use knee_core::outcome::Fault;

use super::super::failure::{Failure, ProxyProblem, SocksTrouble};
use super::super::origin::Origin;
use super::wire::Wire;
use super::{Login, Proxy};

const VERSION: u8 = 5;
/// Methods of authentication.
const OPEN: u8 = 0;
const LOGIN: u8 = 2;
const NONE: u8 = 0xff;
/// Kinds of addresses.
const V4: u8 = 1;
const NAME: u8 = 3;
const V6: u8 = 4;

/// Asks for a connection to `origin` and reads the answer.
pub(super) async fn connect(wire: &mut Wire<'_>, proxy: &Proxy, origin: &Origin) -> Result<(), Failure> {
    let asked = ask(wire, proxy, origin).await;
    asked.map_err(|failure| {
        // What broke without a word of the proxy is a problem with it too.
        let trouble = match failure.proxy.as_deref() {
            Some(ProxyProblem::Socks { trouble, .. }) => *trouble,
            _ => SocksTrouble::Broken,
        };
        let problem = ProxyProblem::Socks { proxy: wire.proxy(), server: origin.place(), trouble };
        Failure { proxy: Some(Box::new(problem)), ..failure }
    })
}

async fn ask(wire: &mut Wire<'_>, proxy: &Proxy, origin: &Origin) -> Result<(), Failure> {
    let methods = if proxy.login.is_some() { &[OPEN, LOGIN][..] } else { &[OPEN] };
    wire.send(&[&[VERSION, methods.len() as u8], methods].concat()).await?;
    let chosen = wire.take(2).await?;
    check_version(chosen[0])?;
    match (chosen[1], &proxy.login) {
        (OPEN, _) => {}
        (LOGIN, Some(login)) => log_in(wire, login).await?,
        (NONE, _) => return Err(failed(SocksTrouble::NoMethod)),
        (other, _) => return Err(failed(SocksTrouble::Method(other))),
    }
    wire.send(&request(origin)?).await?;
    let answer = wire.take(4).await?;
    check_version(answer[0])?;
    if answer[1] != 0 {
        return Err(failed(SocksTrouble::Answer(answer[1])));
    }
    // The address from which the proxy connects is of no use.
    let length = match answer[3] {
        V4 => 4,
        V6 => 16,
        NAME => usize::from(wire.take(1).await?[0]),
        other => return Err(failed(SocksTrouble::Address(other))),
    };
    wire.take(length + 2).await.map(drop)
}

async fn log_in(wire: &mut Wire<'_>, Login { user, password }: &Login) -> Result<(), Failure> {
    let (Ok(user_length @ 1..), Ok(length)) = (u8::try_from(user.len()), u8::try_from(password.len())) else {
        return Err(failed(SocksTrouble::Login));
    };
    wire.send(&[&[1, user_length], &user[..], &[length], password].concat()).await?;
    match wire.take(2).await?[1] {
        0 => Ok(()),
        _ => Err(failed(SocksTrouble::Login)),
    }
}

/// Asks for a connection to a host and a port.
fn request(origin: &Origin) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![VERSION, 1, 0];
    match origin.host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            bytes.push(V4);
            bytes.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            bytes.push(V6);
            bytes.extend(address.octets());
        }
        Err(_) => {
            let length = u8::try_from(origin.host.len()).map_err(|_| failed(SocksTrouble::Name))?;
            bytes.extend([NAME, length]);
            bytes.extend(origin.host.as_bytes());
        }
    }
    bytes.extend(origin.port.to_be_bytes());
    Ok(bytes)
}

fn check_version(version: u8) -> Result<(), Failure> {
    if version == VERSION { Ok(()) } else { Err(failed(SocksTrouble::Version(version))) }
}

/// A failure that the caller completes with the ends.
fn failed(trouble: SocksTrouble) -> Failure {
    let words = match trouble {
        SocksTrouble::NoMethod | SocksTrouble::Method(_) => {
            "the proxy asks for another authentication".into()
        }
        SocksTrouble::Login => "the proxy did not accept user and password".into(),
        SocksTrouble::Answer(number) => format!("the proxy answered: {}", meaning(number)),
        SocksTrouble::Version(number) => format!("the proxy speaks version {number} of SOCKS, not 5"),
        SocksTrouble::Name => "the host name is too long for SOCKS".to_owned(),
        SocksTrouble::Address(_) | SocksTrouble::Broken => "the proxy's answer is no SOCKS".to_owned(),
    };
    let problem = ProxyProblem::Socks { proxy: None, server: String::new(), trouble };
    Failure { proxy: Some(Box::new(problem)), ..Failure::new(Fault::ProxyRefused, words) }
}

/// What a number in an answer means (RFC 1928, section 6).
fn meaning(number: u8) -> String {
    let known = [
        "general failure",
        "connection not allowed",
        "network unreachable",
        "host unreachable",
        "connection refused",
        "TTL expired",
        "command not supported",
        "address type not supported",
    ];
    let known = usize::from(number).checked_sub(1).and_then(|place| known.get(place));
    known.map_or_else(|| format!("error {number}"), |words| (*words).to_owned())
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn addresses_are_sent_as_bytes_and_names_as_they_are() {
        let bytes = |url: &str| request(&Origin::of(&Url::parse(url).unwrap()).unwrap());
        assert_eq!(bytes("http://10.0.0.1/").unwrap(), [5, 1, 0, 1, 10, 0, 0, 1, 0, 80]);
        assert_eq!(bytes("https://ab/").unwrap(), [5, 1, 0, 3, 2, b'a', b'b', 1, 187]);
        assert_eq!(bytes("http://[::1]:256/").unwrap()[3..], [&[4][..], &[0; 15], &[1, 1, 0]].concat());
        let long = format!("http://{}/", "a".repeat(256));
        assert!(bytes(&long).is_err());
    }

    #[test]
    fn numbers_of_answers_have_names() {
        assert_eq!(meaning(5), "connection refused");
        assert_eq!(meaning(9), "error 9");
    }
}
