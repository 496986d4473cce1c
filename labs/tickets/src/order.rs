//! What a buyer asks for: the body of a request, checked.
//!
//! Does not know which tickets exist or how many are left.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::once::Once;

/// How large an order may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most lines of one order, at least 1.
    pub lines: usize,
    /// Most tickets of one kind in one order, at least 1.
    pub count: i32,
}

/// Tickets by id with how many of each, from 1 up to [`Limits::count`]; never empty.
///
/// Lines with the same id are one line here. They come in order of id: two orders that take row locks take them in
/// the same order, so they wait for each other instead of dead-locking.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    lines: BTreeMap<String, i32>,
}

/// An order on its way to a store, with its idempotency key if it has one. Cheap to copy: it may wait in several queues.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What is asked for.
    pub order: Arc<Order>,
    /// The key, if the buyer sent one.
    pub once: Option<Arc<Once>>,
}

/// Why a body is not an order.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not the JSON that is wanted.
    #[error("the body has to be {{\"tickets\":[{{\"id\":\"a\",\"count\":2}}]}}: {0}")]
    Json(String),
    /// No line.
    #[error("the list of tickets is empty")]
    Empty,
    /// Too many lines.
    #[error("an order has at most {most} lines, this one has {lines}")]
    Lines {
        /// How many there are.
        lines: usize,
        /// How many there may be.
        most: usize,
    },
    /// Zero, negative or too many of one ticket.
    #[error("ticket {id}: the count has to be from 1 to {most}, not {count}")]
    Count {
        /// Which ticket.
        id: String,
        /// All that was asked for of it.
        count: i64,
        /// How many there may be.
        most: i32,
    },
}

#[derive(Deserialize)]
struct Body {
    tickets: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    count: i64,
}

impl Order {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// It is not JSON of the right shape, or outside of the limits.
    pub fn read(body: &[u8], limits: Limits) -> Result<Self, Problem> {
        let body: Body = serde_json::from_slice(body).map_err(|error| Problem::Json(error.to_string()))?;
        if body.tickets.is_empty() {
            return Err(Problem::Empty);
        }
        if body.tickets.len() > limits.lines {
            return Err(Problem::Lines { lines: body.tickets.len(), most: limits.lines });
        }
        let mut lines = BTreeMap::new();
        for Line { id, count } in body.tickets {
            // Before the sum: a negative line must not be made up for by another one.
            let line = checked(&id, count, limits)?;
            let before = lines.get(&id).copied().unwrap_or(0);
            let sum = checked(&id, i64::from(before) + i64::from(line), limits)?;
            lines.insert(id, sum);
        }
        Ok(Self { lines })
    }

    /// Each ticket with its count.
    pub fn lines(&self) -> impl Iterator<Item = (&str, i32)> {
        self.lines.iter().map(|(id, count)| (id.as_str(), *count))
    }
}

fn checked(id: &str, count: i64, limits: Limits) -> Result<i32, Problem> {
    i32::try_from(count)
        .ok()
        .filter(|count| (1..=limits.count).contains(count))
        .ok_or_else(|| Problem::Count { id: id.to_owned(), count, most: limits.count })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { lines: 3, count: 10 };

    fn read(body: &str) -> Result<Order, Problem> {
        Order::read(body.as_bytes(), LIMITS)
    }

    #[test]
    fn lines_of_one_ticket_are_added_up_and_sorted() {
        let order =
            read(r#"{"tickets":[{"id":"b","count":2},{"id":"a","count":1},{"id":"b","count":3}]}"#).unwrap();
        assert_eq!(order.lines().collect::<Vec<_>>(), [("a", 1), ("b", 5)]);
    }

    #[test]
    fn a_negative_line_is_refused_even_when_the_sum_is_fine() {
        let problem = read(r#"{"tickets":[{"id":"a","count":5},{"id":"a","count":-2}]}"#).unwrap_err();
        assert_eq!(problem, Problem::Count { id: "a".to_owned(), count: -2, most: 10 });
    }

    #[test]
    fn many_lines_of_one_ticket_do_not_get_around_the_limit() {
        let problem = read(r#"{"tickets":[{"id":"a","count":6},{"id":"a","count":6}]}"#).unwrap_err();
        assert_eq!(problem, Problem::Count { id: "a".to_owned(), count: 12, most: 10 });
    }

    #[test]
    fn what_is_not_an_order_is_named() {
        assert_eq!(read(r#"{"tickets":[]}"#), Err(Problem::Empty));
        for count in ["0", "11", "9223372036854775807"] {
            let body = format!(r#"{{"tickets":[{{"id":"a","count":{count}}}]}}"#);
            assert!(matches!(read(&body), Err(Problem::Count { .. })), "{body}");
        }
        let line = r#"{"id":"a","count":1}"#;
        let many = format!(r#"{{"tickets":[{line},{line},{line},{line}]}}"#);
        assert_eq!(read(&many), Err(Problem::Lines { lines: 4, most: 3 }));
        for body in
            ["", "[]", "{}", r#"{"tickets":[{"id":1,"count":1}]}"#, r#"{"tickets":[{"id":"a","count":1.5}]}"#]
        {
            assert!(matches!(read(body), Err(Problem::Json(_))), "{body}");
        }
    }
}
