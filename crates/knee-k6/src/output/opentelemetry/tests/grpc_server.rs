//! A server of one call of gRPC, as a test wants it to answer.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Response};
use tokio::net::TcpListener;

/// Longest time that a test waits for a call.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A call.
pub struct Call {
    /// Its path.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, with the prefix.
    pub body: Vec<u8>,
}

/// A server.
pub struct GrpcServer {
    /// Host and port.
    pub address: String,
    calls: Receiver<Call>,
}

impl GrpcServer {
    /// The next call.
    pub fn call(&self) -> Call {
        self.calls.recv_timeout(WAIT_MAX).unwrap()
    }
}

/// A server that answers calls with a message, and ends them with this status and its words.
pub fn start(status: &'static str, words: &'static str, message: Vec<u8>) -> GrpcServer {
    let (calls, inbox) = sync_channel(16);
    let (found, address) = sync_channel(1);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            found.send(listener.local_addr().unwrap().to_string()).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let (calls, message) = (calls.clone(), message.clone());
                    tokio::spawn(async move {
                        let (head, mut stream) = request.into_parts();
                        let mut body = Vec::new();
                        while let Some(Ok(part)) = stream.data().await {
                            stream.flow_control().release_capacity(part.len()).unwrap();
                            body.extend_from_slice(&part);
                        }
                        calls
                            .send(Call { path: head.uri.path().to_owned(), headers: head.headers, body })
                            .unwrap();
                        let mut send = respond.send_response(Response::new(()), false).unwrap();
                        send.send_data(framed(&message), false).unwrap();
                        let mut trailers = HeaderMap::new();
                        trailers.insert("grpc-status", status.parse().unwrap());
                        trailers.insert("grpc-message", words.parse().unwrap());
                        send.send_trailers(trailers).unwrap();
                    });
                }
            }
        });
    });
    GrpcServer { address: address.recv_timeout(WAIT_MAX).unwrap(), calls: inbox }
}

fn framed(message: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(message.len() as u32);
    out.extend_from_slice(message);
    out.freeze()
}
