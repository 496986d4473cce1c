//! Requests that become longer and longer until the service refuses them, because cookies pile up.
//!
//! Needs the run, with sampled requests: their cookies show growth that each user goes through at another time. Bodies
//! and addresses are what the load chooses, and no finding. Does not know which cookie grows.

use knee_core::record::Point;
use knee_core::sampled::Looks;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered, ok};
use crate::figure::{number, percent};
use crate::finding::{Remedy, Signal, Subject, Unit};
use crate::lack::Lack;
use crate::trend::{FIGURES_MIN, trend};

pub(super) const RULE: Rule = Rule {
    code: "growing_requests",
    finds: "requests whose cookies become longer until they are refused",
    needs: "the run, with 50 responses",
    limits: "the cookies of sampled requests of one endpoint differ by 1,000 bytes and a factor of 4, and 1 % of the responses have status 431 or 494. Or these cookies, and 1 % of the responses have status 400 or 413, the bytes sent per request grow by 20 % over the run with a Mann-Kendall score of 2.58 (1 % by chance), and errors are 10 % more of the responses in the last third of the run than in the first. Status 431 or 494 alone is a hint",
    source: "431 says that the header of a request is too long (RFC 6585), 494 the same in nginx; 413 is for bodies, and some servers answer 400 or 413 to long headers, too. Servers and proxies accept 4 to 16 KB of header. A load chooses its bodies and addresses, and a service its cookies.",
    cause: "Each visit, login or step adds a cookie, or to a cookie, and nothing removes it: a cookie with a name of its own per login that was begun, a list of what was seen.",
    remedy: "Keep the state on the server and its key in one cookie, overwrite the cookie instead of adding one, and give those of unfinished steps a short life.",
    explains: &[],
    check,
};

const RESPONSES_MIN: u64 = 50;
const ENDED_MIN: u64 = 10;
const REFUSED: f64 = 0.01;
const LONGER: f64 = 1_000.0;
const FACTOR: f64 = 4.0;
const GROWTH: f64 = 0.2;
const SCORE: f64 = 2.58;
const MORE_ERRORS: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    if evidence.answered() < RESPONSES_MIN {
        return Err(Lack::of(format!("{RESPONSES_MIN} responses")));
    }
    let by_header =
        refused(evidence, [431, 494], "share of responses with status 431: its header is too long");
    let signals: Vec<Signal> = match (by_header, cookies(evidence)) {
        (Some(refused), longer) => std::iter::once(refused).chain(longer).collect(),
        (None, Some(longer)) => vaguely_refused(evidence, longer).unwrap_or_default(),
        (None, None) => Vec::new(),
    };
    let Some(refused) = signals.first() else { return Ok(Vec::new()) };
    let why = match signals.get(1) {
        Some(longer) => {
            format!(": cookies become {} bytes longer with each user's requests", number(longer.figure))
        }
        None => ", because their headers are too long".to_owned(),
    };
    Ok(vec![Draft {
        subject: Subject::service(),
        statement: format!("{} of the requests are refused{why}", percent(refused.figure)),
        signals,
        remedy: Remedy::advice(
            "overwrite the cookie instead of adding one, and keep the state on the server with its key in the cookie",
        ),
        gain: None,
    }])
}

/// The signals where the status says less: requests that grow for all, and are refused more and more.
fn vaguely_refused(evidence: &Evidence<'_>, longer: Signal) -> Option<Vec<Signal>> {
    let refused = refused(evidence, [400, 413], "share of responses with status 400 or 413")?;
    Some(vec![refused, longer, growth(evidence)?, later_errors(evidence)?])
}

/// The share of the responses with one of these statuses.
fn refused(evidence: &Evidence<'_>, codes: [u16; 2], what: &str) -> Option<Signal> {
    let with = evidence.all().status.iter().filter(|(status, _)| codes.contains(status));
    let count: u64 = with.map(|(_, count)| *count).sum();
    let share = count as f64 / evidence.answered() as f64;
    Signal::at_least(what, Unit::Share, Some(share), REFUSED, "the run: status codes")
}

/// How much longer the longest cookies are than the shortest, among the sampled requests of one endpoint.
fn cookies(evidence: &Evidence<'_>) -> Option<Signal> {
    let of_endpoint = |looks: &Looks| {
        let (least, most) = (looks.cookie_least? as f64, looks.cookie_most as f64);
        (most >= FACTOR * least).then_some(most - least)
    };
    let most = evidence.run.sampled.endpoints.values().filter_map(of_endpoint).max_by(f64::total_cmp);
    Signal::at_least(
        "difference between the longest and the shortest cookies of an endpoint",
        Unit::Bytes,
        most,
        LONGER,
        "the run: sampled requests",
    )
}

/// The growth of the bytes per request.
fn growth(evidence: &Evidence<'_>) -> Option<Signal> {
    let mut points = evidence.steady();
    points.retain(|point| point.ended() >= ENDED_MIN);
    if points.len() < FIGURES_MIN {
        return None;
    }
    let each: Vec<f64> = points.iter().map(|point| point.bytes_sent as f64 / point.ended() as f64).collect();
    Signal::at_least(
        "growth of the bytes sent per request",
        Unit::Share,
        trend(&each).filter(|trend| trend.score >= SCORE).map(|trend| trend.growth),
        GROWTH,
        "the run: bytes",
    )
}

/// How much more of the responses are errors in the last third of the run than in the first.
fn later_errors(evidence: &Evidence<'_>) -> Option<Signal> {
    let points = evidence.steady();
    let third = points.len() / 3;
    let share = |points: &[&Point]| {
        let all = points.iter().map(|point| answered(point) as f64).sum::<f64>();
        let good = points.iter().map(|point| ok(point) as f64).sum::<f64>();
        (all > 0.0).then_some(1.0 - good / all)
    };
    let more = share(points.get(points.len() - third..)?)? - share(points.get(..third)?)?;
    Signal::at_least(
        "errors of the last third of the run, more than in the first",
        Unit::Share,
        Some(more),
        MORE_ERRORS,
        "the run: outcomes",
    )
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::Confidence;
    use crate::testing::Scene;

    /// Requests of which three of ten are refused with this status from this second on.
    fn refused(status: u16, from: u64) -> Scene {
        Scene::with(move |sample, second, dice| {
            if second >= from && dice.share() < 0.3 {
                sample.status = status;
            }
        })
    }

    fn cookies(scene: &mut Scene, least: u64, most: u64) {
        let looks = Looks { responses: 50, cookie_least: Some(least), cookie_most: most, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
    }

    fn grow(scene: &mut Scene, each: fn(u64) -> u64) {
        for (second, point) in (0..).zip(&mut scene.run.series) {
            point.bytes_sent = point.ended() * each(second);
        }
    }

    #[test]
    fn cookies_that_pile_up_until_headers_are_refused_are_found() {
        let mut scene = refused(431, 0);
        cookies(&mut scene, 0, 3_800);
        let finding = scene.found("growing_requests").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Likely, 2));
        let says =
            "30 % of the requests are refused: cookies become 3,800 bytes longer with each user's requests";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn cookies_that_grow_for_all_users_are_found_with_a_vague_status_if_errors_begin_late() {
        let mut vague = refused(400, 20);
        cookies(&mut vague, 0, 3_800);
        grow(&mut vague, |second| 200 + 100 * second);
        let finding = vague.found("growing_requests").unwrap();
        assert_eq!((finding.confidence, finding.evidence.len()), (Confidence::Strong, 4));
        grow(&mut vague, |_| 4_000);
        assert_eq!(vague.found("growing_requests"), None, "one long cookie of a login, and errors of data");
    }

    #[test]
    fn a_script_that_sends_longer_bodies_until_they_are_refused_is_healthy() {
        for status in [400, 413, 414] {
            let mut uploads = refused(status, 20);
            cookies(&mut uploads, 40, 40);
            grow(&mut uploads, |second| 200 + 100_000 * second);
            assert_eq!(uploads.found("growing_requests"), None, "{status}");
        }
    }

    #[test]
    fn refusals_of_headers_without_growth_are_a_hint() {
        let mut scene = refused(431, 0);
        cookies(&mut scene, 3_000, 3_900);
        assert_eq!(scene.found("growing_requests").unwrap().confidence, Confidence::Hint);
    }

    #[test]
    fn long_cookies_and_growing_uploads_that_are_accepted_are_healthy_and_so_are_errors_of_another_kind() {
        let mut scene = Scene::steady();
        cookies(&mut scene, 0, 3_800);
        grow(&mut scene, |second| 200 + 100 * second);
        assert_eq!(scene.found("growing_requests"), None);
        let mut invalid = refused(400, 0);
        cookies(&mut invalid, 0, 3_800);
        grow(&mut invalid, |second| 200 + 100 * second);
        assert_eq!(invalid.found("growing_requests"), None, "they are refused from the beginning");
        let mut missing = refused(404, 20);
        grow(&mut missing, |second| 200 + 100 * second);
        assert_eq!(missing.found("growing_requests"), None);
    }
}
