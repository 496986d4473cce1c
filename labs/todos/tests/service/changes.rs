//! New todos reach those who wait for them: once each, in order, and never at the expense of memory.

use std::collections::VecDeque;

use reqwest::Method;
use serde_json::{Value, json};
use testbed::{TIMEOUT, signal, wait};
use todos::grpc::message::{Change, ListRequest, WatchRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tonic::{Code, Status, Streaming};

use crate::cluster;
use crate::fixture::{GRPC, Service, send};

/// The part of a stream up to an empty line: an event or a comment.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    event: String,
    id: String,
    data: String,
    is_comment: bool,
}

impl Block {
    fn parse(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines() {
            match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
                Some(("event", value)) => value.clone_into(&mut block.event),
                Some(("id", value)) => value.clone_into(&mut block.id),
                Some(("data", value)) => value.clone_into(&mut block.data),
                Some(("", _)) => block.is_comment = true,
                _ => panic!("not a line of an event: {line:?}"),
            }
        }
        block
    }

    fn todo(&self) -> Value {
        assert_eq!(self.event, "created", "{self:?}");
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A reader of server-sent events.
struct Events {
    response: reqwest::Response,
    text: String,
    blocks: VecDeque<Block>,
}

impl Events {
    async fn open(service: &Service, query: &str) -> Self {
        let response = service.request(Method::GET, &format!("/todos/changes{query}")).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new(), blocks: VecDeque::new() }
    }

    /// The next event or comment; none at the end.
    async fn next(&mut self) -> Option<Block> {
        loop {
            if let Some(block) = self.blocks.pop_front() {
                return Some(block);
            }
            let chunk =
                tokio::time::timeout(TIMEOUT, self.response.chunk()).await.expect("no event").unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                self.blocks.push_back(Block::parse(block.trim_end()));
            }
        }
    }

    /// The next so many todos.
    async fn todos(&mut self, count: usize) -> Vec<(u64, Value)> {
        let mut todos = Vec::new();
        while todos.len() < count {
            let block = self.next().await.expect("the stream goes on");
            todos.push((block.id.parse().unwrap(), block.todo()));
        }
        todos
    }
}

async fn watch(service: &Service, changes: u32) -> Streaming<Change> {
    service.calls().await.watch(WatchRequest { changes }).await.unwrap().into_inner()
}

async fn message(stream: &mut Streaming<Change>) -> Result<Option<Change>, Status> {
    tokio::time::timeout(TIMEOUT, stream.message()).await.expect("no message")
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn every_reader_gets_each_todo_once_and_in_one_order_under_concurrent_creates() {
    let cluster = cluster::empty();
    for insert in ["steps", "one", "group"] {
        let service = Service::open(&cluster, &[&GRPC[..], &["--insert", insert]].concat()).await;
        let (mut one, mut other) = (Events::open(&service, "").await, Events::open(&service, "").await);
        let mut stream = watch(&service, 0).await;
        service.create_many(100).await;
        let (seen, others) = (one.todos(100).await, other.todos(100).await);
        assert_eq!(seen, others, "{insert}: one order");
        let sequence: Vec<u64> = seen.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(sequence, (1..=100).collect::<Vec<u64>>(), "{insert}: without a gap");
        for (sequence, todo) in &seen {
            let change = message(&mut stream).await.unwrap().unwrap();
            let id = change.todo.as_ref().map(|todo| i64::from(todo.id));
            assert_eq!((change.sequence, id), (*sequence, todo["id"].as_i64()), "{insert}: both doors");
        }
        let mut ids: Vec<i64> = seen.iter().map(|(_, todo)| todo["id"].as_i64().unwrap()).collect();
        if insert == "group" {
            assert!(ids.is_sorted(), "in the order in which they were written");
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 100, "{insert}: once each");
        cluster.execute("TRUNCATE todos").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_list_requested_after_a_change_shows_it() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &GRPC).await;
    service.ids().await;
    let mut events = Events::open(&service, "").await;
    let creating = service.create_many(30);
    let looking = async {
        for _ in 0..30 {
            let (_, todo) = events.todos(1).await.remove(0);
            assert!(service.ids().await.contains(&todo["id"].as_i64().unwrap()));
        }
    };
    tokio::join!(creating, looking);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_stream_ends_after_as_many_changes_as_asked_for() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &GRPC).await;
    let mut events = Events::open(&service, "?changes=2").await;
    let mut stream = watch(&service, 2).await;
    service.create_many(5).await;
    let seen = events.todos(2).await;
    assert_eq!((seen[0].0, seen[1].0, events.next().await), (1, 2, None));
    for sequence in 1..=2 {
        assert_eq!(message(&mut stream).await.unwrap().unwrap().sequence, sequence);
    }
    assert_eq!(message(&mut stream).await.unwrap(), None);
    for query in [
        "?changes=0",
        "?changes=-1",
        "?changes=x",
        "?changes=4294967296",
        "?changed=1",
        "?changes=1&changes=2",
    ] {
        let response = service.get(&format!("/todos/changes{query}")).await;
        assert_eq!((response.status, response.code().as_str()), (400, "bad_query"), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn comments_keep_a_stream_without_changes_alive() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--heartbeat-ms", "20"]).await;
    let mut events = Events::open(&service, "").await;
    for _ in 0..3 {
        let block = events.next().await.unwrap();
        assert_eq!(block, Block { is_comment: true, ..Block::default() });
    }
}

/// Asks for the changes and reads nothing. The small buffer fills soon.
async fn open_unread(service: &Service) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = service.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(b"GET /todos/changes HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    wait("it is a reader", async || service.metric("todos_change_readers").await == 1).await;
    stream
}

/// Creates large todos until a condition holds.
async fn create_until(service: &Service, what: &str, condition: impl AsyncFn() -> bool) {
    let large = json!({"description": "\u{1f375}".repeat(2000)});
    wait(what, async || {
        let created = (0..50).map(async |_| assert_eq!(service.post(&large).await.status, 200));
        futures_util::future::join_all(created).await;
        condition().await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_reader_that_falls_behind_is_told_that_it_is_dropped() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--change-queue", "4", "--stall-timeout-ms", "600000"]).await;
    let stream = open_unread(&service).await;
    // Its connection takes what fits into the buffers; then it waits, and later changes push earlier ones out.
    let (mut reading, mut writing) = stream.into_split();
    let read = async {
        let mut text = Vec::new();
        while !text.ends_with(b"event: closed\ndata: too_slow\n\n\r\n0\r\n\r\n") {
            let read = tokio::time::timeout(TIMEOUT, reading.read_buf(&mut text)).await.expect("no end");
            assert_ne!(read.unwrap(), 0, "the stream ends with an event");
        }
        String::from_utf8(text).unwrap()
    };
    // A reader that reads would never be dropped: so it begins to read when enough was written to fill all buffers.
    for _ in 0..20 {
        create_until(&service, "fifty more", async || true).await;
    }
    let text = read.await;
    let sequence: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert!(sequence.iter().copied().eq(1..=sequence.len() as u64), "what it got has no gap: {sequence:?}");
    assert!(sequence.len() < 1000, "{}", sequence.len());
    assert_eq!(service.metric("todos_slow_readers_total").await, 1);
    writing.shutdown().await.unwrap();
    service.create("goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_reader_that_reads_nothing_loses_its_connection_and_its_place() {
    let cluster = cluster::empty();
    let flags = ["--change-queue", "4", "--stall-timeout-ms", "200", "--change-readers", "1"];
    let service = Service::open(&cluster, &[&GRPC[..], &flags].concat()).await;
    let _stream = open_unread(&service).await;
    let response = service.get("/todos/changes?changes=1").await;
    assert_eq!((response.status, response.code().as_str()), (503, "too_many_readers"));
    let refused = service.calls().await.watch(WatchRequest { changes: 1 }).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    create_until(&service, "it is no reader", async || service.metric("todos_change_readers").await == 0)
        .await;
    let mut events = Events::open(&service, "?changes=1").await;
    service.create("tea").await;
    assert_eq!(events.todos(1).await[0].1["name"], "tea");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_call_that_falls_behind_ends_with_resource_exhausted() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[&GRPC[..], &["--change-queue", "4"]].concat()).await;
    let mut stream = watch(&service, 0).await;
    // The window of HTTP/2 fills first: nobody reads the stream.
    for _ in 0..5 {
        create_until(&service, "fifty more", async || true).await;
    }
    let refused = loop {
        match message(&mut stream).await {
            Ok(change) => assert!(change.is_some(), "a stream that lost changes does not end with OK"),
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(service.metric("todos_slow_readers_total").await, 1);
    assert!(service.calls().await.list(ListRequest {}).await.is_ok(), "others go on");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_shutdown_ends_the_streams_of_both_doors_at_once() {
    let cluster = cluster::empty();
    for handler in ["async", "threadpool"] {
        let flags = ["--grace", "600", "--handler", handler];
        let mut service = Service::open(&cluster, &[&GRPC[..], &flags].concat()).await;
        let mut events = Events::open(&service, "").await;
        let mut stream = watch(&service, 0).await;
        service.create("last").await;
        signal(service.process.id(), "TERM");
        assert_eq!(events.todos(1).await[0].1["name"], "last", "{handler}");
        let closed = events.next().await.unwrap();
        assert_eq!((closed.event.as_str(), closed.data.as_str()), ("closed", "stopping"), "{handler}");
        assert_eq!(events.next().await, None, "{handler}");
        assert!(message(&mut stream).await.unwrap().is_some(), "{handler}");
        assert_eq!(message(&mut stream).await.unwrap_err().code(), Code::Unavailable, "{handler}");
        drop((events, stream));
        let ended = tokio::task::spawn_blocking(move || service.process.0.wait().unwrap());
        let ended =
            tokio::time::timeout(TIMEOUT, ended).await.expect("it waits for the grace period").unwrap();
        assert!(ended.success(), "{handler}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn changes_are_no_todo_that_can_be_deleted() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[]).await;
    let response = send(service.request(Method::DELETE, "/todos/changes")).await;
    assert_eq!((response.status, response.code().as_str()), (405, "bad_method"));
}
