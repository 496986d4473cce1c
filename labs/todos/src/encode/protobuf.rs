//! Todos as the messages of `proto/todos.proto`.
//!
//! Does not read messages; the generated server does.

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use prost::Message as _;
use prost_types::Timestamp;

use crate::grpc::message;
use crate::todo::Todo;

/// Key of the field `todos` of a list: number 1, with a length before its bytes.
const TODOS_KEY: u8 = 1 << 3 | 2;

/// A list as a message.
pub fn list(todos: &[Todo]) -> Bytes {
    message::TodoList { todos: todos.iter().map(of).collect() }.encode_to_vec().into()
}

/// One todo as a message.
pub fn one(todo: &Todo) -> Bytes {
    of(todo).encode_to_vec().into()
}

/// Todos that are encoded already as the message of a list.
pub fn join<'a>(todos: impl Iterator<Item = &'a Bytes> + Clone) -> Bytes {
    let size = |todo: &Bytes| 1 + prost::length_delimiter_len(todo.len()) + todo.len();
    let mut body = BytesMut::with_capacity(todos.clone().map(size).sum());
    for todo in todos {
        body.put_u8(TODOS_KEY);
        // A buffer of this kind grows, so it always has room for a length.
        let _ = prost::encode_length_delimiter(todo.len(), &mut body);
        body.extend_from_slice(todo);
    }
    body.freeze()
}

fn of(todo: &Todo) -> message::Todo {
    message::Todo {
        id: todo.id,
        name: todo.name.clone(),
        description: todo.description.clone(),
        done: todo.done,
        created_at: timestamp(todo.created_at),
        updated_at: todo.updated_at.and_then(timestamp),
    }
}

/// A time in UTC. None beyond the years -9999 to 9999, which PostgreSQL's driver does not return.
fn timestamp(time: DateTime) -> Option<Timestamp> {
    let time = TimeZone::UTC.to_timestamp(time).ok()?;
    // Protobuf counts nanoseconds forward, also before 1970.
    let nanos = time.as_nanosecond();
    let (seconds, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    Some(Timestamp { seconds: seconds as i64, nanos: nanos as i32 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_joined_of_encoded_todos_is_the_list_encoded_at_once(
            items in prop::collection::vec((any::<i32>(), ".{0,200}", any::<bool>()), 0..20)
        ) {
            let at = DateTime::constant(2020, 7, 1, 12, 34, 56, 123_456_000);
            let todos: Vec<Todo> = items.into_iter().map(|(id, name, done)| Todo {
                id,
                description: name.chars().rev().collect(),
                name,
                done,
                created_at: at,
                updated_at: done.then_some(at),
            }).collect();
            let each: Vec<Bytes> = todos.iter().map(one).collect();
            prop_assert_eq!(join(each.iter()), list(&todos));
        }
    }

    #[test]
    fn times_are_seconds_and_nanoseconds_of_utc() {
        for (time, seconds, nanos) in [
            (DateTime::constant(1970, 1, 1, 0, 0, 0, 0), 0, 0),
            (DateTime::constant(2020, 7, 1, 12, 34, 56, 123_456_000), 1_593_606_896, 123_456_000),
            // A microsecond before 1970 is in the second before it.
            (DateTime::constant(1969, 12, 31, 23, 59, 59, 999_999_000), -1, 999_999_000),
        ] {
            assert_eq!(timestamp(time), Some(Timestamp { seconds, nanos }), "{time}");
        }
    }
}
