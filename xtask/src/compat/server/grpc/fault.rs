//! Answers that no service gives: HTTP that is not gRPC, and streams that break. Metadata `x-fault` asks for one.
//!
//! | value | answer |
//! |---|---|
//! | `http-503` | this status of HTTP, and a page |
//! | `reset-8` | the stream is reset with this code, before any header |
//! | `reset-8-late` | the same after headers and a message |
//! | `bare` | a message, and no status |
//! | `text` | a status of 200 and a page |
//! | `half` | the beginning of a message, and a status of success |
//! | `garbage` | a message that cannot be decoded |
//! | `none`, `two` | no message, or two of them, where there should be one |
//! | `status-99` | this status of gRPC, in headers |
//! | `details-5` | the same with a detail of a type that is described nowhere |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{Full, StreamBody};
use hyper::body::{Frame, Incoming};
use prost::Message as _;
use tonic::body::Body;

use super::proto::Detailed;
use super::{Broken, Response};

/// An empty message, and one of which two bytes are missing.
const EMPTY: &[u8] = &[0, 0, 0, 0, 0];
const HALF: &[u8] = &[0, 0, 0, 0, 4, 10, 2];
/// A field of two bytes, of which there is one.
const GARBAGE: &[u8] = &[0, 0, 0, 0, 3, 10, 2, b'a'];

/// What is answered, if the request asks for a fault.
pub fn answer(request: &http::Request<Incoming>) -> Option<Result<Response, Broken>> {
    let fault = request.headers().get("x-fault")?.to_str().ok()?;
    let (kind, code) = fault.split_once('-').unwrap_or((fault, ""));
    let (code, is_late) = code.strip_suffix("-late").map_or((code, false), |code| (code, true));
    let number = code.parse::<u16>().unwrap_or_default();
    let message = |bytes: &'static [u8]| Ok(Frame::data(Bytes::from_static(bytes)));
    let body = match kind {
        "http" => return Some(Ok(page(number))),
        "text" => return Some(Ok(page(200))),
        "status" => return Some(Ok(status(code))),
        "details" => return Some(Ok(detailed(status(code), number))),
        "reset" if is_late => vec![message(EMPTY), Err(reset(number))],
        "reset" => return Some(Err(reset(number))),
        "bare" => vec![message(EMPTY)],
        "half" => vec![message(HALF), Ok(success())],
        "garbage" => vec![message(GARBAGE), Ok(success())],
        "none" => vec![Ok(success())],
        "two" => vec![message(EMPTY), message(EMPTY), Ok(success())],
        _ => return None,
    };
    Some(Ok(of_kind("application/grpc", Body::new(StreamBody::new(tokio_stream::iter(body))))))
}

fn of_kind(kind: &'static str, body: Body) -> Response {
    let mut response = http::Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    response
}

fn page(status: u16) -> Response {
    let body = Body::new(Full::new(Bytes::from_static(b"<h1>not here</h1>")));
    let mut response = of_kind("text/html", body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response
}

fn status(code: &str) -> Response {
    let mut response = of_kind("application/grpc", Body::empty());
    let code = HeaderValue::from_str(code).unwrap_or_else(|_| HeaderValue::from_static("none"));
    response.headers_mut().insert("grpc-status", code);
    response.headers_mut().insert("grpc-message", HeaderValue::from_static("as asked for"));
    response
}

fn detailed(mut response: Response, code: u16) -> Response {
    let unheard = prost_types::Any { type_url: "type.googleapis.com/nowhere.Type".into(), value: vec![8, 1] };
    let details = Detailed { code: code.into(), message: "as asked for".into(), details: vec![unheard] };
    if let Ok(value) = HeaderValue::from_str(&STANDARD_NO_PAD.encode(details.encode_to_vec())) {
        response.headers_mut().insert("grpc-status-details-bin", value);
    }
    response
}

fn reset(code: u16) -> Broken {
    Reason::from(u32::from(code)).into()
}

fn success() -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    Frame::trailers(trailers)
}
