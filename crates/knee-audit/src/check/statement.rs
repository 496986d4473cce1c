//! Statements of a text against its own figures: direction and size of changes, counts, settings, plans.
//!
//! A stated size passes if it is within one unit of its last digit. "x % faster" passes on either base, because both are
//! in use; "better" does not.

use crate::finding::{Finding, Grade};
use crate::measurement::{Change, Claim, Direction, Document, Measurement, Size, Statement};
use crate::number::{Figure, Range, amount, group, show_share};

/// Name of the check.
pub const NAME: &str = "statement";

/// Checks every statement.
pub fn check(document: &Document) -> Vec<Finding> {
    document.statements.iter().filter_map(|one| finding(document, one)).collect()
}

fn finding(document: &Document, statement: &Statement) -> Option<Finding> {
    let impossible = |says: String| Finding::about(NAME, Grade::Impossible, statement, says);
    match &statement.claim {
        Claim::Change(change) => direction(change, statement)
            .or_else(|| size(change, statement))
            .or_else(|| quoted(document, change, statement)),
        Claim::StatusCount { count, status } => {
            let output = document.before(statement.line, |one| !one.statuses.is_empty())?;
            let counted =
                output.statuses.iter().find(|(code, _)| code == status).map_or(0, |(_, count)| *count);
            let is_same = count.value as u64 == counted;
            (!is_same).then(|| {
                impossible(format!(
                    "the output before has {} responses with status {status}, not {}",
                    group(counted),
                    count.text
                ))
                .step(format!("line {}: [{status}] {}", output.line, group(counted)))
            })
        }
        Claim::ErrorShare(share) => {
            let output = document.before(statement.line, |one| !one.statuses.is_empty())?;
            let (errors, all) = output.error_statuses()?;
            let counted = errors as f64 / all as f64;
            share.range.excludes(Range::exact(counted)).then(|| {
                impossible(format!(
                    "the output before has {} errors, not {}",
                    show_share(counted),
                    share.text
                ))
                .step(format!(
                    "{} / {} = {}",
                    group(errors),
                    group(all),
                    show_share(counted)
                ))
            })
        }
        Claim::Setting { value, old, direction } => {
            let rose = value.value > old.value;
            let fell = value.value < old.value;
            let holds = if direction.0 == Direction::Up { rose } else { fell };
            (!holds).then(|| {
                impossible(format!("{} is not {} from {}", value.text, direction.1, old.text)).step(format!(
                    "{} - {} = {}",
                    value.text,
                    old.text,
                    amount(value.value - old.value)
                ))
            })
        }
        Claim::PlanRows { limit, planned, below } => {
            (planned != limit && (planned > limit || below >= limit)).then(|| {
                impossible(format!("the plan returns {planned} rows, the query asks for {limit}"))
                    .step(format!("LIMIT {limit}, but rows={planned} of {below} below it"))
                    .cause("the plan is that of another query")
            })
        }
        Claim::SameFigures { figures, other, other_line } => Some(
            Finding::about(
                NAME,
                Grade::Misleading,
                statement,
                format!("the same figures as line {other_line} ({other})"),
            )
            .step(format!("both: {figures}"))
            .cause("one measurement for two statements"),
        ),
        Claim::Linear => None,
    }
}

/// Factor from before to after.
fn ratio(change: &Change) -> Option<Range> {
    change.to.range.over(change.from.range)
}

fn direction(change: &Change, statement: &Statement) -> Option<Finding> {
    let (rose, fell) =
        (change.from.range.is_below(change.to.range), change.to.range.is_below(change.from.range));
    if !rose && !fell {
        return None;
    }
    let way = if rose { "rose" } else { "fell" };
    let size = if change.from.value > 0.0 {
        show_share((change.to.value / change.from.value - 1.0).abs())
    } else {
        "from zero".to_owned()
    };
    let step = format!("{} -> {}: {way} by {size}", change.from.text, change.to.text);
    let is_better = change.less_is_better.map(|less| if less { fell } else { rose });
    if let (Some((judged, word)), Some(better)) = (&change.judgement, is_better)
        && (*judged == Direction::Up) != better
    {
        let says = format!("the figure {way}: that is not \"{word}\"");
        return Some(Finding::about(NAME, Grade::Impossible, statement, says).step(step));
    }
    let (said, word) = change.verb.as_ref()?;
    if (*said == Direction::Up) == rose {
        return None;
    }
    let says = format!("the figure {way}, although the text says \"{word}\"");
    Some(Finding::about(NAME, Grade::Impossible, statement, says).step(step))
}

fn size(change: &Change, statement: &Statement) -> Option<Finding> {
    let ratio = ratio(change)?;
    let inverse = Range::exact(1.0).over(ratio)?;
    match change.size.as_ref()? {
        Size::Factor(factor) => {
            let is_either = !factor.range.excludes(ratio) || !factor.range.excludes(inverse);
            (!is_either).then(|| {
                let larger = if ratio.middle() >= 1.0 { ratio } else { inverse };
                Finding::about(
                    NAME,
                    Grade::Impossible,
                    statement,
                    format!("the change is {} times, not {}", amount(larger.middle()), factor.text),
                )
                .step(format!(
                    "{} and {}: {} times",
                    change.from.text,
                    change.to.text,
                    amount(larger.middle())
                ))
            })
        }
        Size::Share(share) => share_of_change(change, share, ratio, inverse, statement),
    }
}

fn share_of_change(
    change: &Change,
    share: &Figure,
    ratio: Range,
    inverse: Range,
    statement: &Statement,
) -> Option<Finding> {
    // Printed percentages of a change: |after / before - 1|, or with the new figure as the base.
    let of = |ratio: Range| {
        let (a, b) = ((ratio.low - 1.0).abs(), (ratio.high - 1.0).abs());
        Range::new(a, b)
    };
    let (old_base, new_base) = (of(ratio), of(inverse));
    if !share.range.excludes(old_base) {
        return None;
    }
    let step =
        format!("{} / {} - 1 = {}", change.to.text, change.from.text, show_share(ratio.middle() - 1.0));
    if !share.range.excludes(new_base) {
        let is_speed =
            change.judgement.as_ref().is_some_and(|(_, word)| matches!(word.as_str(), "faster" | "slower"));
        return (!is_speed).then(|| {
            let says = format!(
                "{} has the new figure as its base; of the old one it is {}",
                share.text,
                show_share(old_base.middle())
            );
            Finding::about(NAME, Grade::Misleading, statement, says).step(step).step(format!(
                "{} / {} - 1 = {}",
                change.from.text,
                change.to.text,
                show_share(inverse.middle() - 1.0)
            ))
        });
    }
    let says = format!("the change is {}, not {}", show_share(old_base.middle()), share.text);
    Some(Finding::about(NAME, Grade::Impossible, statement, says).step(step))
}

/// A percentile that changed to a value that no output has, although its old value is that of an output.
fn quoted(document: &Document, change: &Change, statement: &Statement) -> Option<Finding> {
    let share = change.share?;
    let outputs = document.measurements.iter().filter(|one| one.line < statement.line);
    let printed: Vec<(&Measurement, &Figure)> =
        outputs.filter_map(|one| Some((one, one.percentile(share)?))).collect();
    let near = |figure: &Figure, printed: &Figure| !figure.range.widened(0.25).excludes(printed.range);
    let has = |figure: &Figure| printed.iter().any(|(_, known)| near(figure, known));
    if !has(&change.from) || has(&change.to) {
        return None;
    }
    let (last, closest) = printed.iter().min_by(|a, b| {
        (a.1.value / change.to.value).ln().abs().total_cmp(&(b.1.value / change.to.value).ln().abs())
    })?;
    let says = format!(
        "no output has a percentile of {}; the closest is {} at line {}",
        change.to.text, closest.text, last.line
    );
    let factor = closest.value / change.to.value.max(f64::MIN_POSITIVE);
    Some(Finding::about(NAME, Grade::Impossible, statement, says).step(format!(
        "{} / {} = {}",
        closest.text,
        change.to.text,
        amount(factor)
    )))
}
