//! Secrets of `k6/secrets`: where they appear, and where they must not.
//!
//! What scripts get is compared with k6 by `cargo xtask compat`.

use super::harness::run_text_with_secrets;

const SCRIPT: &str = "
    import http from 'k6/http';
    import secrets from 'k6/secrets';
    export default async function () {
      const key = await secrets.get('key');
      console.log('key:', key);
      http.get(`${__ENV.BASE}/text?q=${encodeURIComponent(key)}`);
      http.get(`${__ENV.BASE}/text`, { tags: { name: `with ${key}` }, headers: { 'x-key': key } });
      throw new Error(`no ${key}`);
    }";

#[test]
fn a_secret_that_a_script_has_got_is_in_its_requests_and_neither_in_its_lines_nor_in_the_record() {
    let outcome = run_text_with_secrets(SCRIPT, "key=s3cr et/1");
    assert_eq!(outcome.requests.len(), 2, "{:?}", outcome.requests);
    assert!(outcome.requests[0].contains("s3cr%20et%2F1"), "{:?}", outcome.requests);
    assert_eq!(outcome.lines[0], "key: ***SECRET_REDACTED***");
    assert!(
        outcome.lines.iter().any(|line| line.contains("no ***SECRET_REDACTED***")),
        "{:?}",
        outcome.lines
    );
    let run = outcome.run.unwrap();
    let names: Vec<&str> = run.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    assert!(names.contains(&"with ***SECRET_REDACTED***"), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("/text?q=***SECRET_REDACTED***")), "{names:?}");
}
