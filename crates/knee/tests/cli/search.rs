//! `knee find` from its command line to its answer: a URL, and a todo list on PostgreSQL that lacks an index.
//!
//! A build without optimizations measures nothing that counts, so there the answer is that there is none. With
//! `--profile try`, the same test finds the index and proves it:
//! `cargo test -p knee --profile try --features postgres-tests --test cli search`.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Finished, Home};
use crate::server::Server;

/// Which part the test program plays when it is started as a service: `seed`, `strict` (a seed after which the database
/// refuses every index), or a port on which it serves.
const PART: &str = "KNEE_TEST_TODOS";

/// Rows of the todo list, two per owner.
const ROWS: u32 = 40_000;

/// The document, if it is as its schema says.
fn parsed(finished: &Finished) -> Value {
    let schema = serde_json::from_str(include_str!("../../../../docs/reference/find.schema.json")).unwrap();
    let document: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    document
}

#[test]
fn a_url_is_loaded_and_its_answer_ends_in_a_sentence_and_says_what_was_not_looked_at() {
    let home = Home::new();
    let server = Server::start();
    let load = "-c 2 -z 300ms --warm-up 0s";
    let finished = home.knee("find").arg(server.url("/")).args(load).run();
    let code = finished.code;
    assert!(code == Some(0) || (cfg!(debug_assertions) && code == Some(120)), "{finished:?}");
    assert!(finished.stdout.contains("\nWhat stops it\n"), "{finished:?}");
    let words = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Not looked at (rules, by what they lack)"), "{words}");
    let last = finished.stdout.trim_end().rsplit("\n\n").next().unwrap().replace('\n', " ");
    if cfg!(debug_assertions) {
        assert!(last.starts_with("no answer, because the load is invalid"), "{last}");
    } else {
        assert!(words.contains("a PostgreSQL server (`--observe postgres://...`):"), "{words}");
    }
    let document =
        parsed(&home.knee("find").arg(server.url("/")).args(load).args("--output-format json").run());
    assert_eq!(document["proof"]["state"], "not_tried");
    let sentence = document["sentence"].as_str().unwrap();
    assert!(
        !sentence.is_empty() && (!cfg!(debug_assertions) || sentence.starts_with("no answer")),
        "{sentence}"
    );
    assert!(document["run"]["validity"].is_string() && document["run"].get("observations").is_none());
}

#[test]
fn flags_of_a_study_and_flags_of_a_load_are_not_mixed() {
    let home = Home::new();
    let study = home.file("study/study.toml", study("true"));
    let folder = study.parent().unwrap();
    let refused = |finished: Finished, said: &str| {
        assert_eq!(finished.code, Some(104), "{finished:?}");
        assert!(finished.stderr.contains(said) && finished.stdout.is_empty(), "{finished:?}");
    };
    refused(home.knee("find http://127.0.0.1:1/ --variant stock").run(), "the target is a URL");
    refused(home.knee("find -c 5").arg(folder).run(), "the flags of a load are for a URL");
    refused(home.knee("find --variant no").arg(folder).run(), "the study has no variant `no`");
    refused(home.knee("find --workload no").arg(folder).run(), "choose one of: list");
    refused(home.knee("find --sweep").arg(folder).run(), "`--sweep` is for a URL");
    refused(home.knee("find http://127.0.0.1:1/ --sweep -q 5").run(), "`--sweep` chooses the load");
    refused(home.knee("find ./gone").run(), "there is no file or folder `./gone`");
    refused(home.knee("find").run(), "`TARGET` is missing");
    refused(home.knee("find --proof-time 0").arg(folder).run(), "`--proof-time 0` is not above zero");
}

/// A study of a todo list that lacks an index, served by `service`.
fn study(service: &str) -> String {
    format!(
        r#"title = "todos"

[postgres.db]

[service.main]
command = ["sh", "-c", '{service}', "sh", "{{port}}", "{{postgres.db.url}}"]
seed = ["sh", "-c", '{service}', "sh", "seed", "{{postgres.db.url}}"]
reset = "stores"

[variants.stock]

[variants.other]

[workloads.list]
path = "/todos"
connections = 4

[design]
kind = "pairs"
warm_up = "1s"
"#
    )
}

/// A folder for temporary files through which PostgreSQL can pass when the tests are run by root.
fn passable() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { TempDir::new_in(memory) } else { tempfile::tempdir() }.unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

/// A script that runs this test program as the todo list.
fn service() -> String {
    let program = std::env::current_exe().unwrap().display().to_string();
    format!("{PART}=\"$1 $2\" exec {program} --exact search::the_todo_list --nocapture")
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_missing_index_is_found_and_proven_on_what_knee_started() {
    let home = Home::new();
    let study = home.file("study/study.toml", study(&service()));
    let temporary = passable();
    let find = home.knee("find --share-cpus --output-format json").env("TMPDIR", temporary.path());
    let finished = find.arg(study.parent().unwrap()).start().finish_within(Duration::from_secs(600));
    let document = parsed(&finished);
    let sentence = document["sentence"].as_str().unwrap();
    if cfg!(debug_assertions) {
        assert_eq!(finished.code, Some(120), "{finished:?}");
        assert!(sentence.starts_with("no answer, because the load is invalid"), "{sentence}");
        assert!(document["run"]["requests"]["ok"].as_u64() > Some(0), "{document:#}");
        return;
    }
    let proof = &document["proof"];
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(proof["state"], "tried", "{document:#}");
    let place = proof["finding"].as_u64().unwrap() as usize;
    assert_eq!(document["findings"]["findings"][place]["code"], "missing_index");
    let change = proof["change"].as_str().unwrap();
    assert_eq!(change, r#"CREATE INDEX ON "public"."todos" ("owner") in postgres.db"#);
    assert_eq!(
        document["remedies"][place],
        serde_json::json!({"finding": place, "change": change, "why_not": null})
    );
    assert_eq!(
        (proof["word"].as_str(), proof["verdict"].as_str()),
        (Some("faster"), Some("better")),
        "{sentence}"
    );
    assert!(sentence.starts_with("missing index on public.todos (owner): found by "), "{sentence}");
    assert!(sentence.contains("with the remedy, p95 falls from "), "{sentence}");
    let after = &proof["after"]["findings"]["findings"];
    let again = after.as_array().unwrap().iter().any(|finding| finding["code"] == "missing_index");
    assert!(!again, "{after:#}");
    assert!(!study.parent().unwrap().join(".knee").exists(), "a search saves no trials in the study");
}

#[test]
#[cfg_attr(not(feature = "postgres-tests"), ignore = "needs PostgreSQL: --features postgres-tests")]
fn a_remedy_that_the_database_refuses_ends_in_a_sentence_and_the_findings_are_there() {
    let home = Home::new();
    let text = study(&service()).replace("\"seed\"", "\"strict\"");
    let study = home.file("study/study.toml", text);
    let temporary = passable();
    let find = home.knee("find --share-cpus --output-format json").env("TMPDIR", temporary.path());
    let finished = find.arg(study.parent().unwrap()).start().finish_within(Duration::from_secs(300));
    let document = parsed(&finished);
    assert_eq!(document["proof"]["state"], "not_tried", "{document:#}");
    if cfg!(debug_assertions) {
        assert_eq!(document["remedies"], serde_json::json!([]), "nothing is found in an invalid run");
        return;
    }
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let why = document["proof"]["why"].as_str().unwrap();
    assert!(why.starts_with("the remedy cannot be applied: ") && why.contains("no index here"), "{why}");
    assert!(document["sentence"].as_str().unwrap().contains("; not proven: the remedy cannot be applied"));
    let remedies = document["remedies"].as_array().unwrap();
    let one = remedies.iter().find(|one| one["why_not"] == why).unwrap();
    assert!(one["change"].as_str().unwrap().starts_with("CREATE INDEX"), "{document:#}");
}

/// Statements after which a database refuses every index.
const STRICT: [&str; 2] = [
    "create function refuse() returns event_trigger language plpgsql as \
     'begin raise exception ''no index here''; end'",
    "create event trigger refuse on ddl_command_start when tag in ('CREATE INDEX') execute function refuse()",
];

/// Not a test by itself: the service of the study, if this program is started as it.
#[test]
fn the_todo_list() {
    let Ok(part) = std::env::var(PART) else { return };
    let (part, database) = part.split_once(' ').unwrap();
    if matches!(part, "seed" | "strict") {
        let table = "create table todos (id int primary key, owner int, title text)";
        let rows = format!(
            "insert into todos select n, n / 2, repeat('to do ', 8) from generate_series(1, {ROWS}) n"
        );
        let client = Client::to(database);
        client.run(&[table, &rows]);
        if part == "strict" {
            client.run(&STRICT);
        }
        return;
    }
    let listener = TcpListener::bind(("127.0.0.1", part.parse().unwrap())).unwrap();
    for stream in listener.incoming() {
        let (stream, database) = (stream.unwrap(), database.to_owned());
        std::thread::spawn(move || serve(&stream, &database));
    }
}

/// Answers each request of a connection with the todos of an owner.
fn serve(stream: &TcpStream, database: &str) {
    let mut client = None;
    let mut lines = BufReader::new(stream).lines();
    let mut owner = 1_u32;
    stream.set_nodelay(true).unwrap();
    while let Some(Ok(line)) = lines.next() {
        if !line.is_empty() {
            continue;
        }
        // A connection that only asks whether the port is open needs no database.
        let client = client.get_or_insert_with(|| Client::to(database));
        owner = owner.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let owner = owner % (ROWS / 2);
        let rows = client.run(&[&format!("select id, title from todos where owner = {owner}")]);
        let body = format!("{rows} todos\n");
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut stream = stream;
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A connection to PostgreSQL.
struct Client {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Client {
    fn to(url: &str) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(url, tokio_postgres::NoTls)).unwrap();
        runtime.spawn(connection);
        Self { runtime, client }
    }

    /// Runs statements, and returns the number of rows of the last one.
    fn run(&self, statements: &[&str]) -> usize {
        let ask = |statement: &&str| {
            self.runtime
                .block_on(self.client.simple_query(statement))
                .unwrap()
                .into_iter()
                .filter(|message| matches!(message, tokio_postgres::SimpleQueryMessage::Row(_)))
                .count()
        };
        statements.iter().map(ask).last().unwrap_or(0)
    }
}
