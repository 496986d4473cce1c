//! The commands of k6's client: what each is called with, what is sent, and what its reply becomes.
//!
//! Does not send.

use super::reply::Reply;

/// What a function of the client is called with, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A text, whatever it is.
    Key,
    /// A text, a number or a boolean.
    Value,
    /// A whole number.
    Whole,
    /// Seconds until a key expires, left out unless there are any.
    Expiry,
    /// Any number of texts.
    Keys,
    /// Any number of texts, numbers and booleans.
    Values,
}

/// What a reply becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As it is.
    Any,
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// Whether it is 1.
    Flag,
    /// A number of seconds. As in k6, those below zero are nanoseconds.
    Seconds,
    /// A list.
    List,
    /// Pairs of names and texts.
    Map,
}

/// A function of the client.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The command; empty if the script gives it.
    pub command: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// What becomes of the reply.
    pub shape: Shape,
}

const fn function(
    name: &'static str,
    command: &'static str,
    arguments: &'static [Argument],
    shape: Shape,
) -> Function {
    Function { name, command, arguments, shape }
}

use Argument::{Expiry, Key, Keys, Value, Values, Whole};

/// All functions that send a command.
pub const FUNCTIONS: [Function; 40] = [
    function("decr", "decr", &[Key], Shape::Number),
    function("decrBy", "decrby", &[Key, Whole], Shape::Number),
    function("del", "del", &[Keys], Shape::Number),
    function("exists", "exists", &[Keys], Shape::Number),
    function("expire", "expire", &[Key, Whole], Shape::Flag),
    function("get", "get", &[Key], Shape::Text),
    function("getDel", "getdel", &[Key], Shape::Text),
    function("getSet", "getset", &[Key, Value], Shape::Text),
    function("hdel", "hdel", &[Key, Keys], Shape::Number),
    function("hget", "hget", &[Key, Key], Shape::Text),
    function("hgetall", "hgetall", &[Key], Shape::Map),
    function("hincrby", "hincrby", &[Key, Key, Whole], Shape::Number),
    function("hkeys", "hkeys", &[Key], Shape::List),
    function("hlen", "hlen", &[Key], Shape::Number),
    function("hset", "hset", &[Key, Key, Value], Shape::Number),
    function("hsetnx", "hsetnx", &[Key, Key, Key], Shape::Flag),
    function("hvals", "hvals", &[Key], Shape::List),
    function("incr", "incr", &[Key], Shape::Number),
    function("incrBy", "incrby", &[Key, Whole], Shape::Number),
    function("lindex", "lindex", &[Key, Whole], Shape::Text),
    function("llen", "llen", &[Key], Shape::Number),
    function("lpop", "lpop", &[Key], Shape::Text),
    function("lpush", "lpush", &[Key, Values], Shape::Number),
    function("lrange", "lrange", &[Key, Whole, Whole], Shape::List),
    function("lrem", "lrem", &[Key, Whole, Key], Shape::Number),
    function("lset", "lset", &[Key, Whole, Key], Shape::Text),
    function("mget", "mget", &[Keys], Shape::List),
    function("persist", "persist", &[Key], Shape::Flag),
    function("randomKey", "randomkey", &[], Shape::Text),
    function("rpop", "rpop", &[Key], Shape::Text),
    function("rpush", "rpush", &[Key, Values], Shape::Number),
    function("sadd", "sadd", &[Key, Values], Shape::Number),
    function("sendCommand", "", &[Key, Values], Shape::Any),
    function("set", "set", &[Key, Value, Expiry], Shape::Text),
    function("sismember", "sismember", &[Key, Value], Shape::Flag),
    function("smembers", "smembers", &[Key], Shape::List),
    function("spop", "spop", &[Key], Shape::Text),
    function("srandmember", "srandmember", &[Key], Shape::Text),
    function("srem", "srem", &[Key, Values], Shape::Number),
    function("ttl", "ttl", &[Key], Shape::Seconds),
];

/// What a script gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A reply as it is.
    Reply(Reply),
    /// A number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// Names and texts, in the order of the server.
    Map(Vec<(String, String)>),
}

/// Why a command has no answer; in k6's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is nothing.
    #[error("redis: nil")]
    Nothing,
    /// The server refuses it.
    #[error("{0}")]
    Refused(String),
    /// The reply is of another kind than the command has.
    #[error("redis: unexpected reply: {0}")]
    Kind(String),
    /// There was no reply.
    #[error("{0}")]
    Failed(String),
    /// The VU has no memory left.
    #[error("out of memory")]
    Memory,
}

/// A number as Go writes it into a command.
pub fn written(number: f64) -> String {
    match number {
        infinite if infinite == f64::INFINITY => "+Inf".to_owned(),
        infinite if infinite == f64::NEG_INFINITY => "-Inf".to_owned(),
        number => number.to_string(),
    }
}

/// A command as it is sent.
pub fn encoded(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

impl Shape {
    /// What becomes of a reply.
    pub fn of(self, reply: Reply) -> Result<Answer, CommandError> {
        match (self, reply) {
            (_, Reply::Error(words)) => Err(CommandError::Refused(words)),
            (_, Reply::Nothing) => Err(CommandError::Nothing),
            (Self::Any, reply)
            | (Self::Text, reply @ Reply::Text(_))
            | (Self::List, reply @ Reply::List(_)) => Ok(Answer::Reply(reply)),
            (Self::Number, Reply::Number(number)) => Ok(Answer::Number(number as f64)),
            (Self::Flag, Reply::Number(number)) => Ok(Answer::Flag(number == 1)),
            (Self::Seconds, Reply::Number(seconds)) => {
                Ok(Answer::Number(if seconds < 0 { seconds as f64 / 1e9 } else { seconds as f64 }))
            }
            (Self::Map, Reply::List(list)) => pairs(list).map(Answer::Map),
            (_, reply) => Err(CommandError::Kind(kind(&reply).to_owned())),
        }
    }
}

fn kind(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "a text",
        Reply::Number(_) => "a number",
        Reply::Nothing => "nothing",
        Reply::List(_) => "a list",
        Reply::Error(_) => "an error",
    }
}

fn pairs(list: Vec<Reply>) -> Result<Vec<(String, String)>, CommandError> {
    let text = |reply| match reply {
        Reply::Text(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        other => Err(CommandError::Kind(kind(&other).to_owned())),
    };
    let mut pairs = Vec::with_capacity(list.len() / 2);
    let mut list = list.into_iter();
    while let (Some(name), Some(value)) = (list.next(), list.next()) {
        pairs.push((text(name)?, text(value)?));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_sent_word_by_word() {
        assert_eq!(encoded(&[b"get".to_vec(), "ž".into()]), b"*2\r\n$3\r\nget\r\n$2\r\n\xc5\xbe\r\n");
    }

    #[test]
    fn numbers_are_written_without_exponents() {
        for (number, text) in
            [(1.0, "1"), (1.5, "1.5"), (1e21, "1000000000000000000000"), (1e-7, "0.0000001")]
        {
            assert_eq!(written(number), text);
        }
        assert_eq!([f64::NAN, f64::INFINITY, -0.0].map(written), ["NaN", "+Inf", "-0"]);
    }

    #[test]
    fn replies_become_what_k6_makes_of_them() {
        assert_eq!(Shape::Flag.of(Reply::Number(0)), Ok(Answer::Flag(false)));
        assert_eq!(Shape::Seconds.of(Reply::Number(-2)), Ok(Answer::Number(-2e-9)));
        assert_eq!(Shape::Seconds.of(Reply::Number(60)), Ok(Answer::Number(60.0)));
        assert_eq!(Shape::Text.of(Reply::Nothing), Err(CommandError::Nothing));
        assert!(Shape::Number.of(Reply::List(Vec::new())).is_err());
        let list = ["a", "1"].map(|text| Reply::Text(text.into())).to_vec();
        assert_eq!(Shape::Map.of(Reply::List(list)), Ok(Answer::Map(vec![("a".into(), "1".into())])));
    }

    #[test]
    fn functions_have_different_names() {
        let names: std::collections::BTreeSet<_> = FUNCTIONS.iter().map(|function| function.name).collect();
        assert_eq!(names.len(), FUNCTIONS.len());
    }
}
