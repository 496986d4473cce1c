//! Loads and scripts through a proxy of the test, which leads every name to one server.
//!
//! What k6 makes of proxies is tested in `compat/cases/proxy`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::program::{Home, number};
use crate::server::{Server, identity};

/// How long one direction is waited for before the other is looked at.
const TURN: Duration = Duration::from_millis(2);

/// A proxy at work until the tests end.
struct Proxy {
    address: SocketAddr,
    /// What each connection asked for: a request line, or `SOCKS` with a host and a port.
    asked: Arc<Mutex<Vec<String>>>,
}

/// A connection of a client, with TLS or without.
trait Client: Read + Write {
    fn tcp(&self) -> &TcpStream;
}

impl Client for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Client for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref()
    }
}

impl Proxy {
    /// One without TLS.
    fn to(server: &Server) -> Self {
        Self::start(server.address(), |stream| stream)
    }

    /// One that speaks TLS.
    fn secure(server: &Server, config: Arc<rustls::ServerConfig>) -> Self {
        Self::start(server.address(), move |stream| {
            rustls::StreamOwned::new(rustls::ServerConnection::new(config.clone()).unwrap(), stream)
        })
    }

    fn start<C: Client>(server: SocketAddr, open: impl Fn(TcpStream) -> C + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, open) = (asked.clone(), Arc::new(open));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, log, open) = (stream.unwrap(), log.clone(), open.clone());
                stream.set_nodelay(true).unwrap();
                // A connection without a request, as the knock at the door is, ends at once.
                thread::spawn(move || serve(BufReader::new(open(stream)), server, &log));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A command line with PROXY replaced.
    fn line(&self, line: &str) -> String {
        line.replace("PROXY", &self.address.to_string())
    }
}

/// Serves one connection; `None` if it breaks.
fn serve<C: Client>(mut client: BufReader<C>, server: SocketAddr, log: &Mutex<Vec<String>>) -> Option<()> {
    if *client.fill_buf().ok()?.first()? == 5 {
        let place = socks(&mut client)?;
        log.lock().unwrap().push(format!("SOCKS {place}"));
        return pass(client, &[], server);
    }
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        (client.read_until(b'\n', &mut head).ok()? > 0).then_some(())?;
    }
    let text = String::from_utf8(head).unwrap();
    let (line, rest) = text.split_once("\r\n").unwrap();
    log.lock().unwrap().push(line.to_owned());
    let url = line.split(' ').nth(1).unwrap();
    if !line.starts_with("CONNECT ") {
        // The next requests on this connection are passed on as they are.
        let path = url.splitn(4, '/').nth(3).unwrap();
        let method = line.split(' ').next().unwrap();
        return pass(client, format!("{method} /{path} HTTP/1.1\r\n{rest}").as_bytes(), server);
    }
    let is_known = text.to_ascii_lowercase().contains("proxy-authorization: basic dtp3");
    if url.starts_with("closed.test") && !is_known {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        return client.get_mut().write_all(refusal).and_then(|()| client.get_mut().flush()).ok();
    }
    client.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n").and_then(|()| client.get_mut().flush()).ok()?;
    pass(client, &[], server)
}

/// The exchange of SOCKS; host and port that are asked for.
fn socks<C: Client>(client: &mut BufReader<C>) -> Option<String> {
    let read = |client: &mut BufReader<C>, length: usize| {
        let mut bytes = vec![0; length];
        client.read_exact(&mut bytes).ok().map(|()| bytes)
    };
    let count = read(client, 2)?[1];
    read(client, usize::from(count))?;
    client.get_mut().write_all(&[5, 0]).ok()?;
    let length = read(client, 5)?[4];
    let host = String::from_utf8(read(client, usize::from(length))?).unwrap();
    let port = read(client, 2)?;
    client.get_mut().write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
    Some(format!("{host}:{}", u16::from_be_bytes([port[0], port[1]])))
}

/// Passes bytes on in both directions, beginning with `first`, until one side ends.
fn pass<C: Client>(mut client: BufReader<C>, first: &[u8], server: SocketAddr) -> Option<()> {
    let mut server = TcpStream::connect(server).ok()?;
    server.write_all(first).ok()?;
    client.get_ref().tcp().set_read_timeout(Some(TURN)).ok()?;
    server.set_read_timeout(Some(TURN)).ok()?;
    let mut buffer = vec![0; 1 << 14];
    loop {
        let count = arrived(client.read(&mut buffer))?;
        server.write_all(&buffer[..count]).ok()?;
        let count = arrived(server.read(&mut buffer))?;
        client.get_mut().write_all(&buffer[..count]).and_then(|()| client.get_mut().flush()).ok()?;
    }
}

/// How much arrived within a turn; `None` at the end.
fn arrived(read: std::io::Result<usize>) -> Option<usize> {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match read {
        Ok(0) => None,
        Err(error) if matches!(error.kind(), TimedOut | WouldBlock) => Some(0),
        read => read.ok(),
    }
}

#[test]
fn a_proxy_sends_requests_on_that_name_the_whole_url() {
    let (home, server) = (Home::new(), Server::start());
    let proxy = Proxy::to(&server);
    let line = proxy.line("-n 6 -c 2 -x http://u:w@PROXY http://service.test/slow?a=b");
    let run = home.knee(&line).run().ended_as_it_says(&home);
    assert_eq!((number(&run, "/requests/ok"), server.count()), (6, 6));
    assert_eq!(proxy.asked(), ["GET http://service.test/slow?a=b HTTP/1.1"; 2]);
    let seen = &server.seen()[0];
    assert_eq!(seen.header("host"), Some("service.test"));
    // "u:w" in base64.
    assert_eq!(seen.header("proxy-authorization"), Some("Basic dTp3"));
    assert_eq!(number(&run, "/phases_ms/connect/count"), 2);
}

#[test]
fn tls_and_socks_go_through_a_tunnel_to_the_name_of_the_server() {
    let (_, config) = identity();
    let (plain, secure) = (Server::start(), Server::start_tls(config));
    for (server, kind, url, asked) in [
        (&secure, "http", "https://service.test/slow", "CONNECT service.test:443 HTTP/1.1"),
        (&secure, "socks5", "https://service.test:81/slow", "SOCKS service.test:81"),
        (&plain, "socks5h", "http://service.test/slow", "SOCKS service.test:80"),
    ] {
        let (home, proxy, before) = (Home::new(), Proxy::to(server), server.count());
        let line = proxy.line(&format!("-n 4 -c 2 --insecure -x {kind}://PROXY {url}"));
        let run = home.knee(&line).run().ended_as_it_says(&home);
        assert_eq!((number(&run, "/requests/ok"), server.count() - before), (4, 4), "{kind} {run:#}");
        // With TLS, the server is also asked about HTTP/2 after the load.
        assert_eq!(proxy.asked(), vec![asked; if url.starts_with("https") { 3 } else { 2 }]);
        assert_eq!(server.seen()[before].path, "/slow");
        assert_eq!(server.seen()[before].header("host"), url.split('/').nth(2));
    }
}

#[test]
fn a_proxy_can_be_spoken_to_over_tls() {
    let (_, config) = identity();
    let (plain, secure) = (Server::start(), Server::start_tls(config.clone()));
    for (server, url, asked) in [
        (&plain, "http://service.test/slow", "GET http://service.test/slow HTTP/1.1"),
        (&secure, "https://service.test/slow", "CONNECT service.test:443 HTTP/1.1"),
    ] {
        let (home, proxy) = (Home::new(), Proxy::secure(server, config.clone()));
        let line = proxy.line(&format!("-n 4 -c 2 --insecure -x https://PROXY {url}"));
        let run = home.knee(&line).run().ended_as_it_says(&home);
        assert_eq!((number(&run, "/requests/ok"), server.count()), (4, 4), "{run:#}");
        assert_eq!(proxy.asked()[..2], [asked; 2]);
    }
}

#[test]
fn a_proxy_that_gives_no_way_is_a_fault_with_its_words() {
    let (home, server) = (Home::new(), Server::start());
    let proxy = Proxy::to(&server);
    let line = proxy.line("-n 2 -c 1 -x PROXY https://closed.test/");
    let run = home.knee(&line).run().ended_as_it_says(&home);
    assert_eq!((number(&run, "/requests/transport_error"), server.count()), (2, 0));
    assert_eq!(run["errors"][0]["fault"], "proxy_refused", "{run:#}");
    assert!(run["errors"].to_string().contains("407 Proxy Authentication Required"), "{run:#}");
}

#[test]
fn a_proxy_that_is_not_there_is_reported_before_any_load() {
    let home = Home::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    home.knee(&format!("-n 1 -x {address} http://service.test/"))
        .run()
        .refused(&format!("`{address}` refused the connection"), "start the server, or check the port");
}

#[test]
fn scripts_follow_the_environment_and_loads_on_a_url_warn() {
    let (home, server) = (Home::new(), Server::start());
    let proxy = Proxy::to(&server);
    let address = proxy.address.to_string();
    home.file("s.js", "import http from 'k6/http'; export default () => http.get('http://service.test/s');");
    let finished = home.knee("run -q s.js").env("HTTP_PROXY", &address).run();
    assert!(!finished.stderr.contains("[proxy]"), "{}", finished.stderr);
    assert_eq!(proxy.asked(), ["GET http://service.test/s HTTP/1.1"]);
    assert_eq!(server.seen()[0].path, "/s");

    let other = format!("-n 1 --connect-to service.test:80:{} http://service.test/", server.address());
    let finished = home.knee(&other).env("HTTP_PROXY", &address).run();
    let warning = "warning: HTTP_PROXY is set, but knee connects directly; give the proxy with `-x` [proxy]";
    assert!(finished.stderr.contains(warning), "{}", finished.stderr);
    assert_eq!((proxy.asked().len(), server.count()), (1, 2));

    let excepted = home.knee(&other).env("HTTP_PROXY", &address).env("NO_PROXY", "*").run();
    assert!(!excepted.stderr.contains("[proxy]"), "{}", excepted.stderr);
    assert!(home.knee("explain proxy").run().stdout.contains("NO_PROXY"));
}

#[test]
fn a_variable_that_names_no_proxy_is_reported() {
    let home = Home::new();
    home.file("s.js", "export default function () {}");
    let finished = home.knee("run -q s.js").env("HTTPS_PROXY", "ftp://p").run();
    let warning = "warning: HTTPS_PROXY is ignored, because `ftp` is no kind of proxy [proxy]";
    assert!(finished.stderr.contains(warning), "{}", finished.stderr);
}

#[test]
fn this_machine_is_asked_through_the_proxy_of_x_but_not_through_that_of_the_environment() {
    let (home, server) = (Home::new(), Server::start());
    let proxy = Proxy::to(&server);
    home.knee(&proxy.line("-n 1 -x PROXY http://localhost/")).run().ended_as_it_says(&home);
    assert_eq!(proxy.asked(), ["GET http://localhost/ HTTP/1.1"]);
    let script = "import http from 'k6/http'; export default () => http.get(__ENV.BASE);";
    home.file("s.js", script);
    let address = proxy.address.to_string();
    home.knee("run -q s.js").env("HTTP_PROXY", address).env("BASE", server.url("/")).run();
    assert_eq!((proxy.asked().len(), server.count()), (1, 2));
}

#[test]
fn a_public_server_behind_a_proxy_is_still_public() {
    let (home, server) = (Home::new(), Server::start());
    let proxy = Proxy::to(&server);
    for host in ["192.0.2.1", "only-the-proxy.test"] {
        let finished = home.knee(&proxy.line(&format!("-n 3000 -x PROXY http://{host}/"))).run();
        let error = format!("error: this load is above the limit for a public host, `{host}`");
        assert!(finished.stderr.starts_with(&error), "{}", finished.stderr);
    }
    assert_eq!(server.count(), 0);
}
