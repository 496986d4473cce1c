//! Secrets in URLs, headers and bodies are sent. Nothing that knee says or leaves contains them.
//!
//! Not about the samples of `-o json` and `-o csv`: their tags are k6's, with URLs as the script wrote them.

use knee_core::record::run::read;

use crate::program::{Finished, Home};
use crate::server::Server;

/// The secret; nothing else contains this text.
const SECRET: &str = "hunter2";

/// Usual names of secrets in URLs.
const NAMES: &str = "\
     token Token TOKEN[] tokens accessToken access_token access-token ACCESS_TOKEN access%5Ftoken authtoken id_token \
     refreshToken csrf_token X-Amz-Security-Token key api_key apikey apiKey APIKEY x-api-key accesskey \
     privateKey subscription-key secret clientSecret client_secret password passwd pwd pass passphrase \
     user[password] user%5Bpassword%5D newPassword sig signature X-Amz-Signature hmac jwt bearer auth \
     authorization code otp pin session sessionId session_id PHPSESSID JSESSIONID connect.sid ticket \
     credentials X-Amz-Credential SAMLResponse oauth_verifier";

/// The secret as the value of each name.
fn query() -> String {
    let pairs: Vec<String> = NAMES.split_whitespace().map(|name| format!("{name}={SECRET}")).collect();
    assert!(pairs.len() >= 55, "{}", pairs.len());
    pairs.join("&")
}

/// What contains the secret after a command: its output, the files below its home, and every form of its reports.
fn finds(home: &Home, finished: &Finished) -> Vec<String> {
    let mut found = Vec::new();
    let mut search = |place: String, text: &str| {
        let before = |at: usize| text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev();
        found.extend(text.find(SECRET).map(|at| format!("{place}: {}…", before(at).collect::<String>())));
    };
    search("stdout".into(), &finished.stdout);
    search("stderr".into(), &finished.stderr);
    for record in home.files().iter().filter(|path| path.extension().is_some_and(|ending| ending == "knee")) {
        for format in ["text", "json", "html", "csv", "oha-json", "locust-csv"] {
            let report = home.knee("report").arg(record).args("--format").arg(format);
            let made = report.arg("-o").arg(home.path(&format!("report-{format}"))).run();
            assert_eq!(made.code, Some(0), "{}", made.stderr);
            search(format!("messages of {format}"), &made.stderr);
        }
        // Frames are compressed.
        let bytes = std::fs::read(record).unwrap();
        search("record".into(), &format!("{:?}", read(&*bytes).unwrap().run));
    }
    for path in home.files() {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        search(path.display().to_string(), &text);
    }
    found
}

/// URLs with the secret in every place: of a server, of none, and of mistakes.
fn urls(server: &Server) -> Vec<String> {
    let (query, address) = (query(), server.address());
    let user = format!("ann:{SECRET}@");
    vec![
        format!("http://{address}/x?{query}"),
        format!("http://{user}{address}/x;jsessionid={SECRET}?{query}#token={SECRET}"),
        format!("HTTP://{address}/x?page=1;token={SECRET}&next=/y?code={SECRET}"),
        format!("http://{user}127.0.0.1:1/x;token={SECRET}?{query}"),
        format!("http://{user}127.0.0.1:99999/x;token={SECRET}?{query}"),
        format!("http://{user}127.0.0.1:1/%zz?{query}"),
        format!("ftp://{user}h/x;token={SECRET}?{query}"),
        format!("http:/{address}/x?{query}"),
        format!("/x;token={SECRET}?{query}"),
        format!("undefined/x?page=1&{query}"),
        format!("?{query}"),
        format!("{user}{address}/x?{query}"),
    ]
}

#[test]
fn secrets_in_urls_of_a_script_are_nowhere_however_they_are_spelled_and_whatever_fails() {
    let script = "import http from 'k6/http';
         const url = __ENV.ASKED; const ok = __ENV.OK;
         export const options = { iterations: 4, vus: 1 };
         export default async function () {
           if (__ITER === 1) http.get(url, { throw: true });
           if (__ITER === 2) { http.batch([ok, url]); throw new Error('at ' + url); }
           if (__ITER === 3) await http.asyncRequest('GET', url, null, { throw: true });
           http.get(url); http.get(ok, { tags: { name: url } });
         }";
    let server = Server::start();
    for url in urls(&server) {
        let home = Home::new();
        home.file("script.js", script);
        let flags =
            "run -q script.js --log-output file=log.txt --summary-export export.json --record run.knee";
        let finished = home.knee(flags).env("ASKED", &url).env("OK", server.url("/ok")).run();
        assert_eq!(finished.code, Some(0), "{url}: {}", finished.stderr);
        let log = std::fs::read_to_string(home.path("log.txt")).unwrap();
        assert!(log.contains("Error: at "), "{url}: {log}");
        assert_eq!(finds(&home, &finished), [""; 0], "{url}");
    }
    assert!(server.seen().iter().any(|seen| seen.path.ends_with(&query())), "the secrets are sent");
}

#[test]
fn secrets_of_a_one_liner_are_nowhere_whatever_is_wrong_with_its_url() {
    let server = Server::start();
    // For a one-liner, `undefined` is a host, which would be looked up.
    for url in urls(&server).iter().filter(|url| !url.starts_with("undefined")) {
        let home = Home::new();
        let flags = format!("-n 5 -c 1 -H Authorization:{SECRET} -H Cookie:id={SECRET} -d password={SECRET}");
        let finished = home.knee(&flags).arg(url).run();
        assert!(finished.code.is_some(), "{url}: {}", finished.stderr);
        assert_eq!(finds(&home, &finished), [""; 0], "{url}");
    }
    let seen = server.seen();
    let sent = |name| seen.iter().any(|one| one.header(name).is_some_and(|value| value.contains(SECRET)));
    assert!(sent("authorization") && sent("cookie"), "the secrets are sent");
}

#[test]
fn secrets_of_a_comparison_are_nowhere() {
    let server = Server::start();
    let url = &urls(&server)[1];
    for other in [url, &urls(&server)[3]] {
        let home = Home::new();
        let finished = home
            .knee("compare --blocks 2 -z 200ms -c 2")
            .arg("-a")
            .arg(format!("ann:{SECRET}"))
            .arg(url)
            .arg(other)
            .run();
        assert!(finished.code.is_some(), "{}", finished.stderr);
        assert_eq!(finds(&home, &finished), [""; 0]);
    }
}
