//! Orders: parses and validates the body of a request.
//!
//! Does not know which tickets exist or how many are left.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::idempotency::IdempotencyKey;

/// Size limits of an order.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of lines per order, at least 1.
    pub lines: usize,
    /// Maximum count per ticket and order, at least 1.
    pub count: i32,
}

/// Ticket ids with their counts, 1 to [`Limits::count`] each; never empty.
///
/// Lines with the same id are merged. Lines are sorted by id, so that two orders take row locks in the same order and cannot
/// deadlock.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    lines: BTreeMap<String, i32>,
}

/// An order with its idempotency key, if it has one. Cheap to clone, because it may be in several queues.
#[derive(Debug, Clone)]
pub struct OrderRequest {
    /// The order.
    pub order: Arc<Order>,
    /// The key, if the client sent one.
    pub idempotency: Option<Arc<IdempotencyKey>>,
}

/// Reason why a body is not a valid order.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not JSON of the expected shape.
    #[error("the body has to be {{\"tickets\":[{{\"id\":\"a\",\"count\":2}}]}}: {0}")]
    Json(String),
    /// No lines.
    #[error("the list of tickets is empty")]
    Empty,
    /// Too many lines.
    #[error("an order has at most {most} lines, this one has {lines}")]
    Lines {
        /// Actual number.
        lines: usize,
        /// Maximum.
        most: usize,
    },
    /// Zero, negative or too many of one ticket.
    #[error("ticket {id}: the count has to be from 1 to {most}, not {count}")]
    Count {
        /// Ticket id.
        id: String,
        /// Ordered count.
        count: i64,
        /// Maximum.
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
    /// Parses the body of a request.
    ///
    /// # Errors
    /// The body is not JSON of the expected shape, or exceeds a limit.
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
            // Each line is checked before the sum: another line must not offset a negative one.
            let line = checked(&id, count, limits)?;
            let before = lines.get(&id).copied().unwrap_or(0);
            let sum = checked(&id, i64::from(before) + i64::from(line), limits)?;
            lines.insert(id, sum);
        }
        Ok(Self { lines })
    }

    /// Ticket ids with their counts, sorted by id.
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
    fn lines_of_one_ticket_are_merged_and_sorted() {
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
    fn many_lines_of_one_ticket_do_not_bypass_the_limit() {
        let problem = read(r#"{"tickets":[{"id":"a","count":6},{"id":"a","count":6}]}"#).unwrap_err();
        assert_eq!(problem, Problem::Count { id: "a".to_owned(), count: 12, most: 10 });
    }

    #[test]
    fn each_invalid_order_is_refused_with_its_reason() {
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
