//! What a script said on the console, out of what its program wrote to stderr.
//!
//! Knows two ways of writing a line: JSON, and `key=value` pairs as logrus writes them.
//! Lines of the program itself, about progress or its result, are none of the script's and are left out.

use serde_json::Value;

/// Whose lines they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// k6 logs about itself as well, and says where a line is from.
    K6,
    /// knee logs about the script alone.
    Knee,
}

/// What k6 warns of about streams of gRPC, without a source.
const OF_STREAMS: [&str; 3] =
    ["no handlers for error registered", "can't send empty message", "can't register "];

/// Lines as `level message`. A stack is cut off: it names places in two different engines.
pub fn lines(writer: Writer, stderr: &str) -> Vec<String> {
    let said = stderr.lines().filter_map(|line| entry(writer, line));
    said.map(|(level, message)| format!("{level} {}", cut(&message))).collect()
}

/// Level and message of a line that is the script's. Each entry of a log is one line.
fn entry(writer: Writer, line: &str) -> Option<(String, String)> {
    if let Some(fields) = serde_json::from_str::<Value>(line).ok().filter(Value::is_object) {
        return of_fields(writer, |key| fields[key].as_str().map(str::to_owned));
    }
    line.starts_with("time=").then(|| of_fields(writer, |key| pair(line, key))).flatten()
}

/// k6 says where a line is from; a failed request is reported without a source.
fn of_fields(writer: Writer, field: impl Fn(&str) -> Option<String>) -> Option<(String, String)> {
    let message = field("msg").unwrap_or_default();
    let of_script = matches!(field("source").as_deref(), Some("console" | "stacktrace"));
    // What a program says of a metric or of the test has words of its own.
    let of_program = [
        "is an invalid value for metric",
        "no value was provided for metric",
        "test failed: ",
        "test marked as failed: ",
    ];
    if of_program.iter().any(|words| message.contains(words)) {
        return None;
    }
    let is_script = writer == Writer::Knee
        || of_script
        || matches!(message.as_str(), "Request Failed" | "A batch request failed")
        || message.starts_with("Insufficient VUs")
        || message.starts_with("k6/experimental/redis has been deprecated")
        || OF_STREAMS.iter().any(|words| message.starts_with(words))
        || message.starts_with("Uncaught (in promise)");
    is_script.then(|| (field("level").unwrap_or_default(), message))
}

/// The value of `key` in `a=1 b="two words"`.
fn pair(line: &str, key: &str) -> Option<String> {
    let start = line.find(&format!("{key}=")).filter(|start| *start == 0 || line[..*start].ends_with(' '))?;
    let value = &line[start + key.len() + 1..];
    if !value.starts_with('"') {
        return value.split(' ').next().map(str::to_owned);
    }
    let mut end = 1;
    while let Some(next) = value[end..].find('"') {
        end += next + 1;
        if let Ok(text) = serde_json::from_str(&value[..end]) {
            return Some(text);
        }
    }
    None
}

/// The message without the stack below it, and without what the network said, which is worded by the system.
fn cut(message: &str) -> String {
    let message = message.split("\n\tat ").next().unwrap_or_default();
    let message = if message.starts_with("Request Failed") { "Request Failed" } else { message };
    message.trim_end().replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_of_writing_a_line_say_the_same() {
        let json = r#"{"level":"warning","msg":"one \"two\"\nthree","source":"console","time":"x"}"#;
        let pairs = r#"time="x" level=warning msg="one \"two\"\nthree" source=console"#;
        for text in [json, pairs] {
            assert_eq!(lines(Writer::K6, text), ["warning one \"two\"\\nthree"], "{text}");
        }
    }

    #[test]
    fn an_exception_is_its_first_line() {
        let k6 = r#"{"level":"error","msg":"Error: boom\n\tat default (file:///x.js:7:94(51))\n","source":"stacktrace"}"#;
        let knee =
            r#"time="x" level=error msg="Error: boom\n\tat default (file:///x.js:7:94)" source=stacktrace"#;
        assert_eq!(lines(Writer::K6, k6), ["error Error: boom"]);
        assert_eq!(lines(Writer::Knee, knee), lines(Writer::K6, k6));
    }

    #[test]
    fn a_request_that_failed_is_reported_whatever_the_words_of_the_system() {
        let k6 = r#"{"error":"dial: refused","level":"warning","msg":"Request Failed","time":"x"}"#;
        assert_eq!(lines(Writer::K6, k6), ["warning Request Failed"]);
        assert_eq!(
            lines(Writer::Knee, r#"time="x" level=warning msg="Request Failed" error=refused"#),
            lines(Writer::K6, k6)
        );
    }

    #[test]
    fn lines_of_the_program_itself_are_left_out() {
        let text = "running\ntime=x level=info msg=a source=console\nrecord: /x\nmore of it\n{\"level\":\"error\",\"msg\":\"thresholds\"}\n";
        assert_eq!(lines(Writer::K6, text), ["info a"]);
    }
}
