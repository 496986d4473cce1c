//! Random requests with the outcomes that Go's library for protobuf has for them.

use super::*;

/// A method, a request, and the response with the same message, or the error; one per line, with tabs.
const EXAMPLES: &str = include_str!("examples.txt");

/// With all numbers as fractions, because `1` and `1.0` are the same to a script.
fn as_fractions(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(list) => list.into_iter().map(as_fractions).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, as_fractions(value))).collect()
        }
        other => other,
    }
}

#[test]
fn requests_have_the_outcomes_that_they_have_in_go() {
    let mut count = 0;
    for line in EXAMPLES.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [path, request, outcome] = parts[..] else { panic!("{line}") };
        let method = method(path);
        match method.encode(request.as_bytes()) {
            Err(error) => assert_eq!(error.to_string(), outcome, "{request}"),
            Ok(bytes) => {
                let response = match path {
                    "/knee.test.Echo/Kinds" => echo(&method, request),
                    _ => json(&method.decode(&bytes, usize::MAX).unwrap()),
                };
                assert_eq!(as_fractions(response), as_fractions(json(outcome)), "{request}");
            }
        }
        count += 1;
    }
    assert_eq!(count, 56);
}
