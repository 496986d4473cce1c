//! Both doors give the same todos, refuse the same requests, and count what they answer.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use testbed::TIMEOUT;
use todos::grpc::message::{
    CreateRequest, DeleteRequest, ListRequest, SetRequest, ShowRequest, Todo, WatchRequest,
};
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServiceResponse};

use crate::cluster;
use crate::fixture::{GRPC, Service};

/// A message as the JSON of the other door.
fn as_json(todo: &Todo) -> Value {
    let time = |time: prost_types::Timestamp| {
        let time = Timestamp::new(time.seconds, time.nanos).unwrap();
        time.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string()
    };
    json!({
        "id": todo.id,
        "name": todo.name,
        "description": todo.description,
        "done": todo.done,
        "created_at": todo.created_at.map(time),
        "updated_at": todo.updated_at.map(time),
    })
}

/// The list through the second door, as the JSON of the first one.
async fn list(service: &Service) -> Value {
    let list = service.calls().await.list(ListRequest {}).await.unwrap().into_inner();
    Value::Array(list.todos.iter().map(as_json).collect())
}

/// Calls any path with any message.
async fn raw_call(service: &Service, path: &str, request: Request<CreateRequest>) -> Result<Todo, Status> {
    let address = format!("http://{}", service.get("/grpc").await.body);
    let mut raw = tonic::client::Grpc::new(Endpoint::from_shared(address).unwrap().connect().await.unwrap());
    raw.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::default();
    raw.unary(request, path.parse().unwrap(), codec).await.map(tonic::Response::into_inner)
}

fn named(name: &str) -> CreateRequest {
    CreateRequest { name: Some(name.to_owned()), ..CreateRequest::default() }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn both_doors_give_the_same_todos_with_every_handler_and_insert() {
    let cluster = cluster::empty();
    for handler in ["threadpool", "async_blocking", "async"] {
        for insert in ["steps", "one", "group"] {
            for cache in ["off", "on"] {
                let switches =
                    ["--handler", handler, "--insert", insert, "--list-cache", cache, "--rows", "3"];
                let service = Service::open(&cluster, &[&GRPC[..], &switches].concat()).await;
                run_lifecycle(&service, &format!("{switches:?}")).await;
            }
        }
    }
}

async fn run_lifecycle(service: &Service, flags: &str) {
    let mut calls = service.calls().await;
    let first = service.post(&json!({"name": "tea", "description": "ä\n\"\u{1f375}"})).await;
    let request = CreateRequest { name: None, description: "hot".to_owned(), done: true };
    let second = as_json(&calls.create(request).await.unwrap().into_inner());
    assert_eq!((&second["name"], &second["done"]), (&json!("United todo"), &json!(true)), "{flags}");
    for todo in [first.json(), second] {
        let id = i32::try_from(todo["id"].as_i64().unwrap()).unwrap();
        let path = format!("/todos/{id}");
        let shown = as_json(&calls.show(ShowRequest { id }).await.unwrap().into_inner());
        assert_eq!((&shown, &service.get(&path).await.json()), (&todo, &todo), "{flags}");
        let done = as_json(&calls.set(SetRequest { id, done: Some(true) }).await.unwrap().into_inner());
        assert!(done["done"] == json!(true) && done["updated_at"].is_string(), "{flags}: {done}");
        assert_eq!(service.get(&path).await.json(), done, "{flags}");
    }
    let both = service.get("/todos/").await.json();
    assert_eq!(list(service).await, both, "{flags}: read by the first door, then by the second");
    calls.create(named("the newest")).await.unwrap();
    let both = list(service).await;
    assert_eq!(
        service.get("/todos/").await.json(),
        both,
        "{flags}: read by the second door, then by the first"
    );
    assert_eq!(both.as_array().unwrap().len(), 6, "{flags}");
    for (place, todo) in both.as_array().unwrap().iter().enumerate() {
        let id = i32::try_from(todo["id"].as_i64().unwrap()).unwrap();
        if place % 2 == 0 {
            calls.delete(DeleteRequest { id }).await.unwrap();
        } else {
            assert_eq!(service.delete(&format!("/todos/{id}")).await.status, 200, "{flags}");
        }
        assert_eq!(calls.show(ShowRequest { id }).await.unwrap_err().code(), Code::NotFound, "{flags}");
    }
    assert_eq!((list(service).await, service.get("/todos/").await.json()), (json!([]), json!([])), "{flags}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn concurrent_calls_and_requests_each_get_their_own_todo() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &[&GRPC[..], &["--list-limit", "none"]].concat()).await;
    let calls = service.calls().await;
    let created = (0..200).map(async |number| {
        let name = format!("todo {number}");
        if number % 2 == 0 {
            return service.create(&name).await;
        }
        let todo = calls.clone().create(named(&name)).await.unwrap().into_inner();
        assert_eq!(todo.name, name);
        todo.id.into()
    });
    let mut ids = futures_util::future::join_all(created).await;
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 200, "no two have one id");
    assert_eq!(cluster.number("SELECT count(*) FROM todos").await, 200);
    assert_eq!(list(&service).await, service.get("/todos/").await.json());
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn what_one_door_refuses_the_other_refuses_with_the_documented_status() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &GRPC).await;
    let mut calls = service.calls().await;
    let there = calls.create(named("there")).await.unwrap().into_inner().id;
    let long = "ä".repeat(2001);
    let huge = "a".repeat(20_000);
    for (name, description, status, code) in [
        ("", "", 400, Code::InvalidArgument),
        (&*"ä".repeat(201), "", 400, Code::InvalidArgument),
        ("a\0", "", 400, Code::InvalidArgument),
        ("a", &long, 400, Code::InvalidArgument),
        ("a", "b\0c", 400, Code::InvalidArgument),
        ("a", &huge, 413, Code::OutOfRange),
    ] {
        let response = service.post(&json!({"name": name, "description": description})).await;
        let request = CreateRequest { description: description.to_owned(), ..named(name) };
        let refused = calls.create(request).await.unwrap_err();
        assert_eq!((response.status, refused.code()), (status, code), "{refused:?}");
        if status == 400 {
            assert_eq!(response.json()["error"]["message"], refused.message());
        }
    }
    for id in [0, -1, i32::MAX, there + 1] {
        let codes = [
            calls.show(ShowRequest { id }).await.unwrap_err().code(),
            calls.set(SetRequest { id, done: Some(true) }).await.unwrap_err().code(),
            calls.delete(DeleteRequest { id }).await.unwrap_err().code(),
        ];
        assert_eq!(codes, [Code::NotFound; 3], "{id}");
    }
    let refused = calls.set(SetRequest { id: there, done: None }).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "done is missing"));
    for (encoding, code) in [("identity", Code::Internal), ("gzip", Code::Unimplemented)] {
        // The name of a todo is in the place of its id.
        let mut request = Request::new(named("tea"));
        request.metadata_mut().insert("grpc-encoding", encoding.parse().unwrap());
        let refused = raw_call(&service, "/todos.v1.Todos/Show", request).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused:?}");
    }
    assert_eq!(
        cluster.number("SELECT count(*) FROM todos WHERE NOT done").await,
        1,
        "nothing else was stored"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn without_postgres_calls_are_unavailable_and_do_not_say_where_it_is() {
    let mut cluster = cluster::empty();
    let service = Service::open(&cluster, &[&GRPC[..], &["--list-cache", "off"]].concat()).await;
    let mut calls = service.calls().await;
    cluster.stop_immediately();
    for refused in [
        calls.list(ListRequest {}).await.unwrap_err(),
        calls.create(named("tea")).await.unwrap_err(),
        calls.delete(DeleteRequest { id: 1 }).await.unwrap_err(),
    ] {
        assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
        assert!(!refused.message().contains("127.0.0.1"), "{refused:?}");
    }
    assert!(calls.watch(WatchRequest { changes: 1 }).await.is_ok(), "the changes need no store to wait for");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn a_call_whose_message_stalls_is_refused_and_a_call_past_its_deadline_ends() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &GRPC).await;
    let channel = Endpoint::from_shared(format!("http://{}", service.get("/grpc").await.body));
    let mut raw = tonic::client::Grpc::new(channel.unwrap().connect().await.unwrap());
    raw.ready().await.unwrap();
    let path = "/todos.v1.Todos/Create".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<CreateRequest, Todo>::default();
    let never = Request::new(futures_util::stream::pending());
    let stalled = tokio::time::timeout(TIMEOUT, raw.client_streaming(never, path, codec));
    let refused = stalled.await.expect("it waits for ever").unwrap_err();
    assert_eq!(refused.code(), Code::DeadlineExceeded, "{refused:?}");

    let mut blocking_client = cluster.connect().await;
    let blocking_transaction = blocking_client.transaction().await.unwrap();
    blocking_transaction.batch_execute("LOCK TABLE todos").await.unwrap();
    let mut request = Request::new(named("late"));
    request.set_timeout(Duration::from_millis(300));
    let refused = service.calls().await.create(request).await.unwrap_err();
    assert!([Code::Cancelled, Code::DeadlineExceeded].contains(&refused.code()), "{refused:?}");
    blocking_transaction.rollback().await.unwrap();
    service.create("goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn metrics_count_calls_by_name_with_the_status_of_grpc() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &GRPC).await;
    let mut calls = service.calls().await;
    for id in 1..=20 {
        calls.show(ShowRequest { id }).await.unwrap_err();
        calls.list(ListRequest {}).await.unwrap();
    }
    for invented in ["/todos.v1.Todos/Steal", "/todos.v1.Todos/Hide", "/nothing.Here/List"] {
        let refused = raw_call(&service, invented, Request::new(named("tea"))).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented, "{invented}");
    }
    let name = |route: &str, status: u16| {
        format!("todos_requests_total{{route=\"{route}\",method=\"gRPC\",status=\"{status}\"}}")
    };
    assert_eq!(service.metric(&name("/todos.v1.Todos/Show", 5)).await, 20);
    assert_eq!(service.metric(&name("/todos.v1.Todos/List", 0)).await, 20);
    assert_eq!(service.metric(&name("/todos.v1.Todos/{*rest}", 12)).await, 2);
    assert_eq!(service.metric(&name("none", 12)).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_second_door_describes_itself_and_is_shut_unless_asked_for() {
    let cluster = cluster::empty();
    let open = Service::open(&cluster, &GRPC).await;
    let address = format!("http://{}", open.get("/grpc").await.body);
    let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
    let question = ServerReflectionRequest {
        message_request: Some(MessageRequest::ListServices(String::new())),
        ..ServerReflectionRequest::default()
    };
    let questions = futures_util::stream::iter([question]);
    let mut answers =
        ServerReflectionClient::new(channel).server_reflection_info(questions).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(services) = answer else { panic!("{answer:?}") };
    let todos = ServiceResponse { name: "todos.v1.Todos".to_owned() };
    assert!(services.service.contains(&todos), "{services:?}");
    let shut = Service::open(&cluster, &[]).await;
    let response = shut.get("/grpc").await;
    assert_eq!((response.status, response.code().as_str()), (404, "unknown_path"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
async fn the_routes_answer_the_same_over_http2_to_clients_that_begin_with_it() {
    let cluster = cluster::empty();
    let service = Service::open(&cluster, &["--rows", "300"]).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let request = client.post(format!("{}/todos/", service.url)).json(&json!({"name": "tea"}));
    let created = request.send().await.unwrap();
    assert_eq!((created.status().as_u16(), created.version()), (200, reqwest::Version::HTTP_2));
    let list = client.get(format!("{}/todos/", service.url)).send().await.unwrap();
    assert_eq!(list.text().await.unwrap(), service.get("/todos/").await.body);
    let mut events = client.get(format!("{}/todos/changes?changes=1", service.url)).send().await.unwrap();
    service.create("cake").await;
    let event = tokio::time::timeout(TIMEOUT, events.chunk()).await.expect("no event").unwrap().unwrap();
    assert!(event.starts_with(b"event: created\nid: 2\n"), "{event:?}");
}
