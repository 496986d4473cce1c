//! What a server gets, by the names and settings of k6, and what happens if it does not take it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use knee_core::unit::Nanos;
use proptest::prelude::*;

use super::super::batch::{Batch, TagList};
use super::super::endpoint::{Push as _, Say};
use super::super::test_server::TestServer;
use super::super::{Settings, Target, Writer};
use super::config::{Config, Field, FieldKind, Precision, Server};
use super::line::Lines;
use super::push::Pusher;
use super::wire::{Body, datagrams};
use crate::metric::{BuiltIn, Registry};
use crate::observe::system_tags::SystemTags;

fn config(argument: &str, pairs: &[(&str, &str)]) -> Result<Config, String> {
    let find = |name: &str| {
        let name = name.strip_prefix("K6_INFLUXDB_")?;
        pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Config::read(argument, &find)
}

/// A batch of one sample of `http_reqs` for each value.
fn batch(pairs: &[(&str, &str)], values: &[f64]) -> Batch {
    let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut batch = Batch::default();
    let tags = batch.list(Arc::new(TagList::new(owned.collect::<Vec<_>>())));
    let at = Nanos(1_795_272_361_945_482_200);
    batch.push(at, tags, None, values.iter().map(|value| (BuiltIn::HttpReqs.id(), *value)));
    batch
}

/// The lines of a batch, and the number of samples that have none.
fn lines(fields: &str, precision: &str, batch: &Batch) -> (String, u64) {
    let config = config("", &[("TAGS_AS_FIELDS", fields), ("PRECISION", precision)]).unwrap();
    let mut body = Body::default();
    let refused = Lines::new(Arc::default(), config.fields, config.precision).add(&mut body, batch);
    (String::from_utf8(body.bytes).unwrap(), refused)
}

#[test]
fn a_point_has_the_sorted_tags_and_fields_that_k6_writes() {
    let pairs =
        [("group", ""), ("method", "GET"), ("status", "200"), ("url", "http://h/?a=\"b\"\\"), ("vu", "3")];
    let (text, refused) = lines("url,vu:int,iter:int", "", &batch(&pairs, &[1.0, 0.1 + 0.2]));
    let expected = r#"http_reqs,method=GET,status=200 url="http://h/?a=\"b\"\\",value=1,vu=3i 1795272361945482200
http_reqs,method=GET,status=200 url="http://h/?a=\"b\"\\",value=0.30000000000000004,vu=3i 1795272361945482200
"#;
    assert_eq!((text.as_str(), refused), (expected, 0));
}

#[test]
fn names_and_values_are_escaped_so_that_no_line_ends_early() {
    for (name, value, written) in [
        ("a b", "c d", r",a\ b=c\ d"),
        ("a,b", "c,d", r",a\,b=c\,d"),
        ("a=b", "c=d", r",a\=b=c\=d"),
        ("ä", "日本 🦀", r",ä=日本\ 🦀"),
        ("a", "say \"x\"", ",a=say\\ \"x\""),
        ("a", "one\r\ntwo", r",a=one\r\ntwo"),
        ("a", r"C:\dir\", r",a=C:\dir"),
        ("a", r"\", ""),
        ("a", "", ""),
        ("", "b", ""),
        ("value", "b", ",value=b"),
    ] {
        let (text, _) = lines("vu", "s", &batch(&[(name, value)], &[2.0]));
        assert_eq!(text, format!("http_reqs{written} value=2 1795272361\n"));
    }
}

#[test]
fn a_field_that_is_not_of_its_kind_is_text_as_in_k6() {
    for (kind, value, written) in [
        ("int", "-7", "-7i"),
        ("int", "7.5", "\"7.5\""),
        ("float", "7.50", "7.5"),
        ("float", "NaN", "\"NaN\""),
        ("bool", "T", "true"),
        ("bool", "yes", "\"yes\""),
        ("string", "", "\"\""),
        ("string", "a\nb", "\"a\nb\""),
    ] {
        let (text, _) = lines(&format!("a b:{kind}"), "h", &batch(&[("a b", value)], &[0.0]));
        assert_eq!(text, format!("http_reqs a\\ b={written},value=0 498686\n"));
    }
}

#[test]
fn what_influxdb_cannot_hold_is_left_out_and_counted() {
    let (text, refused) = lines("vu", "", &batch(&[], &[f64::NAN, 1.0, f64::INFINITY]));
    assert_eq!((text.as_str(), refused), ("http_reqs value=1 1795272361945482200\n", 2));
    let long = "x".repeat(70_000);
    assert_eq!(lines("vu", "", &batch(&[("a", &long)], &[1.0])), (String::new(), 1));
}

type Pairs = Vec<(String, String)>;

/// A line as the protocol defines it: name, tags and fields.
fn parse(line: &str) -> (String, Pairs, Pairs) {
    let cut = |text: &str, at: &str| -> Vec<String> {
        // A backslash escapes what is special after it, and is itself elsewhere; quotes hold anything.
        let (mut parts, mut escaped, mut quoted) = (vec![String::new()], false, false);
        for c in text.chars() {
            if c == '"' && !escaped && at != " tag" {
                quoted = !quoted;
            }
            if at.contains(c) && !escaped && !quoted {
                parts.push(String::new());
            } else {
                parts.last_mut().unwrap().push(c);
            }
            escaped = c == '\\' && !(escaped && quoted);
        }
        parts
    };
    let plain = |text: &str| text.replace("\\,", ",").replace("\\ ", " ").replace("\\=", "=");
    // Quotes mean nothing before the fields.
    let mut end = 0;
    for (place, _) in line.match_indices(' ') {
        if !line[..place].ends_with('\\') {
            end = place;
            break;
        }
    }
    let marked = line[..end].replace('"', "\u{1}");
    let mut parts = cut(&marked, ",").into_iter();
    let name = plain(&parts.next().unwrap());
    let pair = |text: String| {
        let [name, value] = <[String; 2]>::try_from(cut(&text, "=")).unwrap();
        (plain(&name).replace('\u{1}', "\""), plain(&value).replace('\u{1}', "\""))
    };
    let tags = parts.map(pair).collect();
    let (fields, _) = line[end + 1..].rsplit_once(' ').unwrap();
    let fields = cut(fields, ",").into_iter().map(|text| {
        let mut halves = cut(&text, "=").into_iter();
        let name = plain(&halves.next().unwrap()).replace("\\\"", "\"");
        let value = halves.collect::<Vec<_>>().join("=");
        let value = match value.strip_prefix('"') {
            Some(text) => text[..text.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\"),
            None => value,
        };
        (name, value)
    });
    (name, tags, fields.collect())
}

proptest! {
    #[test]
    fn a_line_reads_back_as_what_was_written(
        pairs in prop::collection::btree_map("[a-z ,=\"\\\\ü\n]{0,6}", "[a-c ,=\"ü\n]{0,8}\\\\{0,2}", 0..5),
        field in "[ -!#-\\[\\]-~\n]{0,8}",
        value in any::<f64>().prop_filter("finite", |value| value.is_finite()),
    ) {
        let shown = |text: &str| text.trim_end_matches('\\').replace('\n', "\\n");
        let mut pairs: Vec<_> = pairs.into_iter().filter(|(name, _)| name != "text").collect();
        pairs.push(("text".to_owned(), field.clone()));
        pairs.sort();
        let borrowed: Vec<_> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let (text, refused) = lines("text", "", &batch(&borrowed, &[value]));
        prop_assert_eq!(refused, 0);
        let (name, tags, fields) = parse(text.strip_suffix('\n').unwrap());
        prop_assert_eq!(name, "http_reqs");
        let expected: Vec<_> = pairs
            .iter()
            .filter(|(name, _)| name != "text")
            .map(|(name, value)| (shown(name), shown(value)))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .collect();
        prop_assert_eq!(tags, expected);
        prop_assert_eq!(&fields[0], &("text".to_owned(), field));
        prop_assert_eq!(fields[1].1.parse::<f64>().unwrap(), value);
    }
}

#[test]
fn settings_come_from_the_variables_and_the_url_overrides_them() {
    let plain = config("", &[]).unwrap();
    let text = |name: &str| Field { name: name.to_owned(), kind: FieldKind::Text };
    assert_eq!(plain.fields, ["iter", "url", "vu"].map(text));
    assert_eq!((plain.database.as_str(), plain.writes, plain.interval), ("k6", 4, Duration::from_secs(1)));
    assert_eq!(plain.precision, Precision::NANOSECONDS);
    assert_eq!(plain.server.name(), "http://localhost:8086");

    let pairs = [("ADDR", "https://a:1/x/"), ("DB", "d"), ("USERNAME", "ann"), ("PUSH_INTERVAL", "250ms")];
    let from_env = config("", &pairs).unwrap();
    assert_eq!((from_env.database.as_str(), from_env.interval), ("d", Duration::from_millis(250)));
    let Server::Http { base, authorization, .. } = from_env.server else { panic!("not HTTP") };
    assert_eq!((base.as_str(), authorization.as_deref()), ("https://a:1/x", Some("Basic YW5uOg==")));

    let url = "http://u:p%40@h:2/my%20db?insecure=true&retention=week&consistency=all&precision=ms\
        &pushInterval=2s&concurrentWrites=9&tagsAsFields=vu:int&tagsAsFields=url";
    let named = config(url, &pairs).unwrap();
    assert_eq!((named.database.as_str(), named.writes, named.interval), ("my db", 9, Duration::from_secs(2)));
    assert_eq!(
        (named.retention.as_str(), named.consistency.as_str(), named.precision.name),
        ("week", "all", "ms")
    );
    assert_eq!(named.fields, [text("url"), Field { name: "vu".to_owned(), kind: FieldKind::Int }]);
    let Server::Http { base, authorization, insecure, .. } = named.server else { panic!("not HTTP") };
    assert_eq!(
        (base.as_str(), authorization.as_deref(), insecure),
        ("http://h:2", Some("Basic dTpwQA=="), true)
    );

    assert_eq!(config("only", &pairs).unwrap().database, "only");
    let udp = config("udp://h:8089/x?payload_size=999", &[]).unwrap().server;
    assert_eq!(udp, Server::Udp { address: "h:8089".to_owned(), payload: 999 });
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    for (argument, pairs, words) in [
        ("localhost:8086/k6", &[][..], "the URL after `influxdb=` has no scheme"),
        ("ftp://h/k6", &[], "K6_INFLUXDB_ADDR is `ftp://h`, which is no URL of http, https or udp"),
        ("http://h/k6?x=1", &[], "InfluxDB has no parameter `x`, which is after `influxdb=`"),
        ("http://h/k6?insecure=yes", &[], "`insecure` after `influxdb=` is `yes`, not true or false"),
        (
            "",
            &[("CONCURRENT_WRITES", "0")],
            "K6_INFLUXDB_CONCURRENT_WRITES is `0`, not a number from 1 to 256",
        ),
        ("", &[("PRECISION", "d")], "`d` is no precision of InfluxDB: ns, us, ms, s, m or h"),
        ("", &[("PUSH_INTERVAL", "x")], "K6_INFLUXDB_PUSH_INTERVAL is `x`, not a duration from 1ms to 1h"),
        (
            "",
            &[("TAGS_AS_FIELDS", "vu:int,vu")],
            "the tag `vu` is named twice among the tags of K6_INFLUXDB_TAGS_AS_FIELDS",
        ),
        (
            "",
            &[("TAGS_AS_FIELDS", "vu:number")],
            "`number`, for the tag `vu` of K6_INFLUXDB_TAGS_AS_FIELDS, is none of string, int, float and bool",
        ),
    ] {
        assert_eq!(config(argument, pairs), Err(words.to_owned()));
    }
}

/// Keeps what is said.
fn listener() -> (Say, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    (Arc::new(move |words: &str| heard.lock().unwrap().push(words.to_owned())), said)
}

/// Sends batches to a URL; what was said meanwhile, and the warning at the end.
fn sent_to(url: &str, batches: usize) -> (Vec<String>, Option<String>) {
    let (say, said) = listener();
    let settings = Settings {
        targets: vec![Target::InfluxDb(config(url, &[]).unwrap())],
        metrics: Arc::new(Registry::default()),
        thresholds: std::collections::BTreeMap::default(),
        system_tags: SystemTags::default(),
        say,
    };
    let (writer, outlet) = Writer::start(&settings).unwrap();
    (0..batches).for_each(|_| outlet.send(batch(&[("status", "200")], &[1.0])));
    drop(outlet);
    let warning = writer.finish();
    let said = said.lock().unwrap().clone();
    (said, warning)
}

#[test]
fn a_server_is_asked_for_its_database_and_then_gets_every_sample() {
    let server = TestServer::start(204, "");
    let url = format!("http://ann:x@{}/a%22b?retention=week", server.address);
    assert_eq!(sent_to(&url, 20), (Vec::new(), None));
    let create = &server.requests("/query", 1)[0];
    let words = "POST /query?db=&params=%7B%7D&q=CREATE+DATABASE+%22a%5C%22b%22 HTTP/1.1\r\n";
    assert_eq!(create.line, words);
    let writes = server.requests("/write", 1);
    assert_eq!(writes[0].line, "POST /write?consistency=&db=a%22b&precision=ns&rp=week HTTP/1.1\r\n");
    assert!(writes[0].headers.contains("authorization: basic yw5uong="), "{}", writes[0].headers);
    let lines: usize = writes.iter().map(|write| String::from_utf8_lossy(&write.body).lines().count()).sum();
    assert_eq!(lines, 20);
}

#[test]
fn a_server_that_refuses_is_named_once_while_the_load_runs_and_counted_at_the_end() {
    let server = TestServer::start(500, r#"{"error":"engine is closed"}"#);
    let (said, warning) = sent_to(&format!("http://u:secret@{}", server.address), 3);
    let error = "the endpoint answered with status 500: engine is closed";
    let words = format!(
        "cannot write samples to http://{}: {error}; the load goes on without the samples of this write",
        server.address
    );
    assert_eq!(said, [words]);
    let words = format!(
        "1 of 1 writes to InfluxDB failed, and 3 samples are missing there; the first one failed with: {error}"
    );
    assert_eq!(warning.as_deref(), Some(words.as_str()));
}

#[test]
fn a_server_that_is_not_there_does_not_end_the_run() {
    let (said, warning) = sent_to("http://127.0.0.1:1", 3);
    assert_eq!(said.len(), 1);
    let warning = warning.unwrap();
    let words = "1 of 1 writes to InfluxDB failed, and 3 samples are missing there";
    assert!(warning.starts_with(words), "{warning}");
}

#[test]
fn a_server_that_is_too_slow_loses_samples_which_are_counted() {
    let server = TestServer::holding("/write", 204, "");
    let url = format!("http://{}?concurrentWrites=1&pushInterval=1h", server.address);
    let (say, said) = listener();
    let pusher = Pusher::start_with(&config(&url, &[]).unwrap(), Arc::default(), say, 1);
    let mut pusher = Box::new(pusher.unwrap());
    let one = batch(&[], &[1.0, 2.0]);
    // The first body is under way, the second one waits, and the third one is not full yet.
    pusher.add(&one);
    pusher.add(&one);
    server.requests("/write", 1);
    pusher.add(&one);
    (0..5).for_each(|_| pusher.add(&one));
    server.open();
    let words = "10 samples were not sent to InfluxDB, because it was too slow";
    assert_eq!(pusher.finish().as_deref(), Some(words));
    assert_eq!(said.lock().unwrap().len(), 0);
    assert_eq!(server.requests("/write", 3).len(), 3);
}

#[test]
fn datagrams_hold_whole_lines() {
    let body = Body { bytes: b"aa\nb\"\n\"b\ncc\n".to_vec(), ends: vec![3, 9, 12] };
    let parts = |payload| datagrams(&body, payload).iter().map(|part| part.len()).collect::<Vec<_>>();
    assert_eq!(parts(100), [12]);
    assert_eq!(parts(9), [9, 3]);
    assert_eq!(parts(4), [3, 6, 3]);
    assert_eq!(parts(1), [3, 6, 3]);
}

#[test]
fn datagrams_reach_a_server_that_listens() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let url = format!("udp://{}/k6?precision=s", socket.local_addr().unwrap());
    assert_eq!(sent_to(&url, 1), (Vec::new(), None));
    let mut buffer = [0; 999];
    let length = socket.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"http_reqs,status=200 value=1 1795272361945482200\n");
}
