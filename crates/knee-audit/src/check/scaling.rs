//! Throughput over a load or a machine that grows: proportional growth that is none, curves that no service has, and
//! estimates of users that grow more than the throughput they come from.
//!
//! Looks at tables whose rows have connections, supported users, or a number of cores in their labels.

use crate::finding::{Finding, Grade};
use crate::measurement::{Claim, Document, Measurement};
use crate::number::{Figure, amount, number, show_range, show_share};

/// Name of the check.
pub const NAME: &str = "scaling";

/// Growth that is still called proportional, as a share of it.
const PROPORTIONAL: f64 = 0.8;

/// How far supported users can be from proportional to the throughput, as a share: both are round numbers.
const ROUND: f64 = 0.1;

/// Checks every table.
pub fn check(document: &Document) -> Vec<Finding> {
    let tables = document.tables();
    let linear = document.statements.iter().filter(|one| one.claim == Claim::Linear);
    let mut found: Vec<Finding> = tables.iter().filter_map(|rows| zigzag(rows)).collect();
    found.extend(tables.iter().filter_map(|rows| users(rows)));
    let worst = tables.iter().filter_map(|rows| least(rows)).min_by(|a, b| a.3.total_cmp(&b.3));
    if let Some((low, high, sizes, share)) = worst.filter(|worst| worst.3 < PROPORTIONAL) {
        for statement in linear.take(1) {
            let (Some(a), Some(b)) = (&low.rate, &high.rate) else { continue };
            let says = format!("not proportional: {} of the growth of the cores", show_share(share));
            found.push(
                Finding::about(NAME, Grade::Impossible, statement, says)
                    .step(format!("{} -> {} cores: {} times", sizes.0, sizes.1, amount(sizes.1 / sizes.0)))
                    .step(format!(
                        "{} -> {} requests/s: {} times",
                        a.text,
                        b.text,
                        amount(b.value / a.value)
                    )),
            );
        }
    }
    found
}

/// The number of cores and their kind in a label.
fn cores(label: &str) -> Option<(f64, String)> {
    let lower = label.to_lowercase();
    let count = number(&lower)?;
    let kind = count.rest.trim().to_owned();
    (kind.contains("core") || kind.contains("cpu")).then_some((count.value, kind))
}

/// The two rows of one kind of core whose growth is furthest from proportional.
fn least<'a>(rows: &[&'a Measurement]) -> Option<(&'a Measurement, &'a Measurement, (f64, f64), f64)> {
    let sized: Vec<_> =
        rows.iter().filter_map(|one| Some((*one, cores(&one.label)?, one.rate.as_ref()?))).collect();
    let mut worst: Option<(&Measurement, &Measurement, (f64, f64), f64)> = None;
    for (one, (n, kind), rate) in &sized {
        for (other, (more, other_kind), faster) in &sized {
            if more <= n || kind != other_kind || rate.value <= 0.0 {
                continue;
            }
            let share = (faster.value / rate.value) / (more / n);
            if worst.as_ref().is_none_or(|known| share < known.3) {
                worst = Some((one, other, (*n, *more), share));
            }
        }
    }
    worst
}

/// Users that one throughput is said to support, and another: each user asks for the same, so both grow alike. Users
/// that grow less are a careful estimate.
fn users(rows: &[&Measurement]) -> Option<Finding> {
    let mut sized: Vec<(&Measurement, &Figure, &Figure)> = rows
        .iter()
        .filter_map(|one| Some((*one, one.supported.as_ref()?, one.rate.as_ref()?)))
        .filter(|(_, users, rate)| users.range.low > 0.0 && rate.value > 0.0)
        .collect();
    sized.sort_by(|a, b| a.2.value.total_cmp(&b.2.value));
    sized.windows(2).find_map(|pair| {
        let [(first, few, slow), (_, many, fast)] = pair else { return None };
        let growth = many.range.over(few.range)?;
        let rate = fast.value / slow.value;
        let is_more = growth.low > rate * (1.0 + ROUND);
        let says = format!(
            "{} times the users for {} times the throughput",
            show_range(growth, amount),
            amount(rate)
        );
        let each = |users: &Figure, rate: &Figure| {
            let each = users.range.scaled(1.0 / rate.value);
            format!("{} users / {} = {} users per request/s", users.text, rate.text, show_range(each, amount))
        };
        is_more.then(|| {
            Finding::new(NAME, Grade::Misleading, first, says)
                .step(each(few, slow))
                .step(each(many, fast))
                .cause("if each user asks for the same, users and throughput grow alike")
        })
    })
}

/// Throughput that falls by over 40 % with more connections or users, and later rises by over half.
fn zigzag(rows: &[&Measurement]) -> Option<Finding> {
    let points: Vec<(&Measurement, &Figure, &Figure)> =
        rows.iter().filter_map(|one| Some((*one, one.connections.as_ref()?, one.rate.as_ref()?))).collect();
    let is_rising = points.windows(2).all(|pair| pair[0].1.value < pair[1].1.value);
    if !is_rising || points.len() < 4 {
        return None;
    }
    let mut dips = Vec::new();
    for (at, (_, n, rate)) in points.iter().enumerate() {
        let before = points[..at].iter().map(|point| point.2).max_by(|a, b| a.value.total_cmp(&b.value));
        let after = points[at + 1..].iter().max_by(|a, b| a.2.value.total_cmp(&b.2.value));
        let (Some(before), Some((_, n_after, after))) = (before, after) else { continue };
        if rate.range.high < 0.6 * before.range.low && after.range.low > 1.5 * rate.range.high {
            dips.push((*n, *rate, *n_after, *after));
        }
    }
    let first = dips.first()?;
    let places = points[0].0.places();
    let says = format!(
        "throughput falls to {} at {} {places} and rises to {} at {}",
        first.1.text, first.0.text, first.3.text, first.2.text
    );
    let mut finding = Finding::new(NAME, Grade::Misleading, points[0].0, says);
    for (n, rate, n_after, after) in dips {
        finding = finding.step(format!(
            "{} {places}: {}; {} {places}: {} = {} times",
            n.text,
            rate.text,
            n_after.text,
            after.text,
            amount(after.value / rate.value.max(f64::MIN_POSITIVE))
        ));
    }
    Some(finding.cause(
        "the rows are not of one service in one state; differences between rows of this size are noise",
    ))
}
