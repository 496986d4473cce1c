//! The methods of `compat/cases/grpc/shop.proto`. The two other services have an `Echo`, which is this one.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use prost::Message;
use tokio_stream::{Stream, StreamExt as _};
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::{Grpc, StreamingService};
use tonic::{Code, Request, Status, Streaming};

use super::Response;
use super::proto::{Blob, Caller, Detailed, Failure, Item, Listing, Pause, Size, Total};
use super::raw::Raw;

/// Services that are here.
const SERVICES: [&str; 3] = ["shop.Shop", "shop.parcels.Parcels", "old.Shop"];

/// Messages can be this large, in bytes.
const MESSAGE_MAX: usize = 64 << 20;

/// Messages, and the status at their end if that is not one of success.
type Messages = Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>;

/// What comes of a call.
type Called = Result<tonic::Response<Messages>, Status>;

/// A call of one method.
struct Call {
    path: String,
    caller: Caller,
}

/// Answers a call; metadata comes back as the file says.
pub async fn answer(request: http::Request<Incoming>) -> Response {
    let uri = request.uri();
    let caller = Caller {
        authority: uri.authority().map(ToString::to_string).unwrap_or_default(),
        path: uri.path().to_owned(),
        scheme: uri.scheme_str().unwrap_or_default().to_owned(),
    };
    let headers = request.headers().clone();
    let mut grpc = Grpc::new(Raw).max_decoding_message_size(MESSAGE_MAX);
    if headers.contains_key("x-zip") {
        grpc = grpc.send_compressed(CompressionEncoding::Gzip);
    }
    let call = Call { path: caller.path.clone(), caller };
    with_metadata(grpc.streaming(call, request).await, &headers)
}

/// The answer with the metadata of the request that is to come back. A failure without headers has it all in one place.
fn with_metadata(mut response: Response, sent: &HeaderMap) -> Response {
    let begins = |start: &'static str| {
        sent.iter()
            .filter(move |(name, _)| name.as_str().starts_with(start))
            .map(|(n, v)| (n.clone(), v.clone()))
    };
    let trailing: HeaderMap = begins("t-").collect();
    if response.headers().contains_key("grpc-status") {
        response.headers_mut().extend(trailing);
        return response;
    }
    response.headers_mut().extend(begins("x-").collect::<HeaderMap>());
    response.map(|body| {
        let frames = body.map_frame(move |mut frame| {
            if let Some(trailers) = frame.trailers_mut() {
                trailers.extend(trailing.clone());
            }
            frame
        });
        Body::new(frames)
    })
}

impl StreamingService<Bytes> for Call {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = Pin<Box<dyn Future<Output = Called> + Send>>;

    fn call(&mut self, request: Request<Streaming<Bytes>>) -> Self::Future {
        let (path, caller) = (self.path.clone(), self.caller.clone());
        Box::pin(async move {
            let messages = request.into_inner();
            let method = path.trim_start_matches('/').split_once('/');
            let method =
                method.filter(|(service, _)| SERVICES.contains(service)).map_or("", |(_, name)| name);
            match method {
                "List" | "Watch" => list(first(messages).await?, method == "Watch"),
                "Chat" => Ok(tonic::Response::new(chat(messages))),
                "Sum" => Ok(one(&sum(messages).await?)),
                _ => unary(method, first(messages).await?, &caller).await,
            }
        })
    }
}

async fn unary(method: &str, message: Bytes, caller: &Caller) -> Called {
    match method {
        "Echo" => Ok(stream(vec![Ok(message)])),
        "Who" => Ok(one(caller)),
        "Fail" => fail(read(message)?),
        "Wait" => {
            let Pause { millis } = read(message)?;
            tokio::time::sleep(Duration::from_millis(millis.unsigned_abs().into())).await;
            Ok(one(&Item { name: "waited".into(), count: millis }))
        }
        "Large" => {
            let Size { bytes } = read(message)?;
            let length = usize::try_from(bytes).unwrap_or(0).min(MESSAGE_MAX);
            Ok(one(&Blob { data: vec![b'a'; length].into() }))
        }
        "Measure" => Ok(one(&Size { bytes: read::<Blob>(message)?.data.len() as i64 })),
        _ => Err(Status::unimplemented("no such method")),
    }
}

fn fail(Failure { code, message, details, late }: Failure) -> Called {
    let status = if details.is_empty() {
        Status::new(Code::from_i32(code), message)
    } else {
        let bytes = Detailed { code, message: message.clone(), details }.encode_to_vec();
        Status::with_details(Code::from_i32(code), message, bytes.into())
    };
    if late { Ok(stream(vec![Err(status)])) } else { Err(status) }
}

fn list(message: Bytes, stays: bool) -> Called {
    let Listing { count, code, message } = read(message)?;
    let items = (1..=count).map(|count| Ok(bytes(&Item { name: format!("item {count}"), count })));
    let end = (code != 0).then(|| Err(Status::new(Code::from_i32(code), message)));
    let sent = tokio_stream::iter(items.chain(end).collect::<Vec<_>>());
    let messages: Messages =
        if stays { Box::pin(sent.chain(tokio_stream::pending())) } else { Box::pin(sent) };
    Ok(tonic::Response::new(messages))
}

async fn sum(mut messages: Streaming<Bytes>) -> Result<Total, Status> {
    let mut total = Total::default();
    while let Some(message) = messages.next().await {
        let item: Item = read(message?)?;
        if item.name == "fail" {
            return Err(failed());
        }
        total.items += 1;
        total.count += i64::from(item.count);
    }
    Ok(total)
}

fn chat(messages: Streaming<Bytes>) -> Messages {
    let mut is_over = false;
    let named = messages.map(|message| {
        let message = message?;
        Ok((read::<Item>(message.clone())?.name, message))
    });
    let answers = named.map_while(move |named: Result<(String, Bytes), Status>| match named {
        _ if is_over => None,
        Ok((name, _)) if name == "bye" => None,
        Ok((name, _)) if name == "fail" => {
            is_over = true;
            Some(Err(failed()))
        }
        named => Some(named.map(|(_, message)| message)),
    });
    Box::pin(answers)
}

fn failed() -> Status {
    Status::invalid_argument("failed as asked for")
}

/// The first message of a stream that should have one.
async fn first(mut messages: Streaming<Bytes>) -> Result<Bytes, Status> {
    messages.message().await?.ok_or_else(|| Status::invalid_argument("no message"))
}

fn read<T: Message + Default>(message: Bytes) -> Result<T, Status> {
    T::decode(message).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn bytes(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

fn one(message: &impl Message) -> tonic::Response<Messages> {
    stream(vec![Ok(bytes(message))])
}

fn stream(items: Vec<Result<Bytes, Status>>) -> tonic::Response<Messages> {
    tonic::Response::new(Box::pin(tokio_stream::iter(items)))
}
