//! Asks a server for its descriptors, by `grpc.reflection.v1` or else `v1alpha`, which have the same messages.
//!
//! Does not read the descriptors; [`super::descriptors`] does.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::http2::duplex::{Duplex, FieldList, Outgoing};
use prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;

use super::connection::Connection;
use super::exchange::{Asked, Exchange, Next, Receiver};
use super::frame::framed;
use super::session::Session;
use super::status::{Code, Status};
use crate::errand::Errand;

/// The methods that servers offer, the newer one first. As k6 does, the older one is asked twice.
const METHODS: [&str; 3] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// A question.
#[derive(Clone, PartialEq, prost::Message)]
struct Question {
    #[prost(oneof = "Asks", tags = "3, 4, 7")]
    asks: Option<Asks>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Asks {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileWithSymbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

/// An answer.
#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(oneof = "Says", tags = "4, 6, 7")]
    says: Option<Says>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Says {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Wrong(Wrong),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    descriptors: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    all: Vec<Service>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Wrong {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Makes the session of an exchange with this path.
pub type Sessions<'a> = &'a dyn Fn(&str) -> Session;

/// The descriptors of the files that define the services of a server, with what they import as far as the server has it. Or why they are
/// not known, in k6's words.
pub async fn reflect(
    errand: &Errand,
    connection: &Rc<Connection>,
    sessions: Sessions<'_>,
    metadata: FieldList,
    limit: Nanos,
) -> Result<Vec<Vec<u8>>, String> {
    let mut last = None;
    for path in METHODS {
        let asked = Asked { path: path.to_owned(), metadata: metadata.clone(), limit };
        match ask_all(errand, connection, &sessions(path), &asked).await {
            Err(Refused { status, during }) if status.code == Code::Unimplemented as u32 => {
                last = Some(Refused { status, during });
            }
            Err(refused) => return Err(refused.words()),
            Ok(files) => return Ok(files),
        }
    }
    Err(last.map(|refused| refused.words()).unwrap_or_default())
}

/// Why something is not known.
struct Refused {
    status: Status,
    during: String,
}

impl Refused {
    fn words(&self) -> String {
        format!("{}: {}", self.during, self.status.rpc_error())
    }
}

async fn ask_all(
    errand: &Errand,
    connection: &Rc<Connection>,
    session: &Session,
    asked: &Asked,
) -> Result<Vec<Vec<u8>>, Refused> {
    let mut exchange = Exchange::begin(errand, session, asked.limit);
    let limit = asked.limit.min(errand.cut);
    let network = &errand.sender.network;
    let deadline = network.deadline();
    let during = "can't list services".to_owned();
    let opened = deadline.limit(limit, pin!(exchange.open(connection, session, asked))).await;
    let Duplex { outgoing, incoming } = match opened.unwrap_or_else(|_| Err(exchange.note_late())) {
        Ok(duplex) => duplex,
        Err(status) => {
            exchange.finish(session, &status, network.clock.now().min(limit));
            return Err(Refused { status, during });
        }
    };
    let receiver = Receiver::new(incoming, connection.clone());
    let mut dialogue = Dialogue { outgoing, receiver };
    let asked_all = deadline.limit(limit, pin!(dialogue.files())).await;
    exchange.note(&dialogue.receiver);
    let answered = asked_all.unwrap_or_else(|_| Err(Refused { status: exchange.note_late(), during }));
    // As in k6, the stream is left once everything is known.
    dialogue.outgoing.cancel();
    let now = network.clock.now().min(limit);
    match &answered {
        Ok(_) => exchange.leave(session, now),
        Err(refused) => exchange.finish(session, &refused.status, now),
    }
    answered
}

/// Questions and answers on one stream.
struct Dialogue {
    outgoing: Outgoing,
    receiver: Receiver,
}

impl Dialogue {
    async fn ask(&mut self, asks: Asks) -> Result<Says, Status> {
        let question = Question { asks: Some(asks) }.encode_to_vec();
        // If it is not taken, the server says why.
        let _ = self.outgoing.send(framed(&question)?).await;
        let message = match self.receiver.next().await {
            Next::Message(message) => message,
            Next::End => {
                let status = self.receiver.status();
                let is_ok = status.is_ok();
                return Err(if is_ok { Status::new(Code::Unavailable, "EOF") } else { status });
            }
            Next::Broken(failure, _) => {
                return Err(Status::of_failure(&failure, &self.receiver.connection().destination.origin));
            }
        };
        let answer = Answer::decode(message).map_err(|error| {
            Status::new(Code::Internal, format!("grpc: failed to unmarshal the received message: {error}"))
        })?;
        match answer.says {
            Some(Says::Wrong(Wrong { code, message })) => {
                Err(Status { code: code.cast_unsigned(), message, details: None })
            }
            Some(says) => Ok(says),
            None => Err(Status::new(Code::Internal, "the server answered another question")),
        }
    }

    /// The files of all services.
    async fn files(&mut self) -> Result<Vec<Vec<u8>>, Refused> {
        let refused = |status| Refused { status, during: "can't list services".to_owned() };
        let services = match self.ask(Asks::Services("*".to_owned())).await.map_err(refused)? {
            Says::Services(services) => services.all,
            _ => Vec::new(),
        };
        let mut files = Vec::new();
        let mut known = HashSet::new();
        let mut wanted = VecDeque::new();
        for Service { name } in services {
            let during = format!("can't get method on service \"{name}\"");
            let answer = self.ask(Asks::FileWithSymbol(name)).await;
            let says = answer.map_err(|status| Refused { status, during })?;
            keep(says, &mut files, &mut known, &mut wanted);
        }
        while let Some(name) = wanted.pop_front() {
            if known.contains(&name) {
                continue;
            }
            // Servers often leave out what their libraries contain.
            if let Ok(says) = self.ask(Asks::FileByName(name.clone())).await {
                keep(says, &mut files, &mut known, &mut wanted);
            }
            known.insert(name);
        }
        Ok(files)
    }
}

/// Keeps the files of an answer, and notes what they import.
fn keep(says: Says, files: &mut Vec<Vec<u8>>, known: &mut HashSet<String>, wanted: &mut VecDeque<String>) {
    let Says::Files(Files { descriptors }) = says else { return };
    for bytes in descriptors {
        let Ok(file) = FileDescriptorProto::decode(&*bytes) else { continue };
        if known.insert(file.name().to_owned()) {
            wanted.extend(file.dependency);
            files.push(bytes);
        }
    }
}
