//! A connection to a server of Redis over TLS.
//!
//! The TLS of the client library has not the modes of libpq, and needs features of a runtime that observers do not use.
//! So this module carries the bytes, and the library makes commands and understands answers. Does not connect again.

use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use redis::{
    ConnectionAddr, ConnectionInfo, ConnectionLike, ErrorKind, Parser, RedisConnectionInfo, RedisResult,
    Value,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// A connection.
pub(super) struct Encrypted {
    stream: StreamOwned<ClientConnection, TcpStream>,
    parser: Parser,
    database: i64,
    is_open: bool,
}

impl Encrypted {
    /// Connects and logs in; each step can take as long as `within`.
    pub(super) fn open(
        info: &ConnectionInfo,
        tls: &Arc<ClientConfig>,
        within: Duration,
    ) -> RedisResult<Self> {
        let ConnectionAddr::Tcp(host, port) = info.addr() else {
            return Err((ErrorKind::InvalidClientConfig, "the address has no host").into());
        };
        let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(tls.clone(), name).map_err(io::Error::other)?;
        let socket = dial(host, *port, within)?;
        socket.set_nodelay(true)?;
        let stream = StreamOwned::new(session, socket);
        let database = info.redis_settings().db();
        let mut connection = Self { stream, parser: Parser::new(), database, is_open: true };
        connection.limit(within)?;
        connection.finish_handshake()?;
        connection.log_in(info.redis_settings())?;
        Ok(connection)
    }

    /// Sets the time limit of an answer.
    pub(super) fn limit(&self, within: Duration) -> io::Result<()> {
        self.stream.sock.set_read_timeout(Some(within))?;
        self.stream.sock.set_write_timeout(Some(within))
    }

    /// Before the first command, so that it is known what failed.
    fn finish_handshake(&mut self) -> io::Result<()> {
        let StreamOwned { conn, sock } = &mut self.stream;
        while conn.is_handshaking() {
            conn.complete_io(sock)?;
        }
        Ok(())
    }

    fn log_in(&mut self, settings: &RedisConnectionInfo) -> RedisResult<()> {
        if let Some(password) = settings.password() {
            let mut command = redis::cmd("AUTH");
            if let Some(user) = settings.username() {
                command.arg(user);
            }
            command.arg(password);
            command.exec(self)?;
        }
        if self.database != 0 {
            let mut command = redis::cmd("SELECT");
            command.arg(self.database);
            command.exec(self)?;
        }
        Ok(())
    }

    /// Sends commands and reads so many answers.
    fn exchange(&mut self, commands: &[u8], answers: usize) -> RedisResult<Vec<Value>> {
        self.stream.write_all(commands)?;
        self.stream.flush()?;
        (0..answers).map(|_| self.parser.parse_value(&mut self.stream)).collect()
    }
}

/// Opens a connection to the first address of a host that accepts one.
fn dial(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

impl ConnectionLike for Encrypted {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        let answers = self.req_packed_commands(command, 0, 1)?;
        answers.into_iter().next().ok_or_else(|| (ErrorKind::Client, "there is no answer").into())
    }

    fn req_packed_commands(
        &mut self,
        commands: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let answers = self.exchange(commands, offset + count);
        self.is_open &= answers.is_ok();
        Ok(answers?.split_off(offset))
    }

    fn get_db(&self) -> i64 {
        self.database
    }

    fn check_connection(&mut self) -> bool {
        redis::cmd("PING").exec(self).is_ok()
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}
