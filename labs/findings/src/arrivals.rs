//! Users who arrive at the same time: where their connections wait, and what each of them gets.
//!
//! Does not accept connections, and does not parse HTTP.

use std::io;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};

use crate::defect::Defect;
use crate::shop::{Shop, checksum, document};

/// Connections that can wait until they are accepted, as usual, and with the defect.
const WAITING: u32 = 1024;
const FEW: u32 = 4;
/// Options of which each user gets a checksum.
const OPTIONS: usize = 2000;

/// Listens. The defect lets few connections wait, and the system drops what comes then.
///
/// # Errors
/// The port is taken.
pub fn listen(at: SocketAddr, defect: Defect) -> io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As usual: a port is free again as soon as its process has ended.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(if defect == Defect::SmallBacklog { FEW } else { WAITING })
}

/// What a user gets who arrives: a checksum of the first options, which takes some milliseconds.
pub fn arrive(shop: &Shop, number: u32) -> Value {
    let options = shop.options.get(..OPTIONS).unwrap_or_default();
    json!({"arrival": number, "checksum": checksum(&document(options))})
}
