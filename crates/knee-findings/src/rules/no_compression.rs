//! Text that is sent as it is, although the load accepts compression.
//!
//! Needs sampled responses. Does not know whether the network is narrow: where bytes neither take time nor fill a link,
//! only bodies that compression makes shorter by several packets are a hint.

use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;
use knee_core::sampled::Looks;
use knee_core::tally::Phase;

use super::delayed_ack;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "no_compression",
    finds: "text that is sent without compression",
    needs: "20 sampled responses with text whose requests accept compression",
    limits: "95 % of the sampled texts of an endpoint are not compressed, of 4 KiB in the mean; then either the arrival of its bodies takes 10 % of its service time, or 12.5 MB of all bodies arrive per second from another machine. With neither, a hint from 16 KiB on",
    source: "4 KiB are three packets of Ethernet: text of this size shrinks to a third or less, and below it a response is one packet or two anyway. 12.5 MB/s are a tenth of a link of 1 Gbit/s.",
    cause: "Neither the service nor a proxy before it compresses, or they do not for this type.",
    remedy: "Compress text with gzip or zstd in the service or the proxy, and measure what that costs in CPU time.",
    explains: &["transfer"],
    check,
};

/// Fewest sampled texts of an endpoint.
pub(super) const SAMPLED_MIN: u64 = 20;
const PLAIN: f64 = 0.95;
const BODY: f64 = 4_096.0;
const HINT_BODY: f64 = 16_384.0;
const RECEIVE: f64 = 0.1;
/// Bytes per second.
const RATE: f64 = 12.5e6;
/// Share of the bytes that compression saves.
const SAVED: f64 = 2.0 / 3.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let sampled = evidence.sampled()?;
    let many = |count: fn(&Looks) -> u64| sampled.endpoints.values().any(|looks| count(looks) >= SAMPLED_MIN);
    if !many(|looks| looks.offered) {
        let lack = "a load that accepts compression: `-H 'Accept-Encoding: gzip'`, or `headers` in a script";
        return if many(|looks| looks.texts) { Err(Lack::of(lack)) } else { Ok(Vec::new()) };
    }
    let endpoints = sampled.endpoints.iter().filter(|(_, looks)| looks.offered >= SAMPLED_MIN);
    let drafts =
        endpoints.filter_map(|(id, looks)| Some((looks.plain_bytes, of_endpoint(evidence, *id, looks)?)));
    let largest = drafts.max_by_key(|(bytes, _)| *bytes);
    Ok(largest.map(|(_, draft)| draft).into_iter().collect())
}

fn of_endpoint(evidence: &Evidence<'_>, id: EndpointId, looks: &Looks) -> Option<Draft> {
    let plain = looks.offered.saturating_sub(looks.compressed) as f64;
    let (share, body) = (plain / looks.offered as f64, looks.plain_bytes as f64 / plain.max(1.0));
    let of_sample = "the run: sampled responses";
    let plain = Signal::at_least(
        "texts without compression, although offered",
        Unit::Share,
        Some(share),
        PLAIN,
        of_sample,
    )?;
    if body < BODY {
        return None;
    }
    let arrival = Arrival::of(evidence, id);
    let of_service = arrival.as_ref().map(|arrival| arrival.of_service);
    let slow = "share of the service time in which bodies arrive";
    let slow = Signal::at_least(slow, Unit::Share, of_service, RECEIVE, "the run: receive");
    let gain = arrival.filter(|_| slow.is_some()).and_then(|arrival| {
        Gain::saves(
            evidence.response_mean(),
            Some(arrival.per_response * SAVED),
            "two thirds of the time in which these bodies arrive",
        )
    });
    // A link within a machine is never full.
    let is_far = evidence.run.head.co_located != Some(true);
    let rate = evidence.throughput().zip(evidence.bytes_per_response()).map(|(rate, bytes)| rate * bytes);
    let full = Signal::at_least(
        "bytes received per second",
        Unit::Bytes,
        rate.filter(|_| is_far),
        RATE,
        "the run: bytes",
    );
    let second = slow.or(full);
    if second.is_none() && body < HINT_BODY {
        return None;
    }
    Some(Draft {
        subject: Subject::of(SubjectKind::Endpoint, evidence.endpoint_name(id), None),
        statement: format!(
            "{} of the texts are sent without compression, {} KiB each, although the load accepts it",
            percent(share),
            number(body / 1024.0)
        ),
        signals: [Some(plain), second].into_iter().flatten().collect(),
        remedy: Remedy::advice("compress text in the service or in the proxy before it"),
        gain,
    })
}

/// How long the bodies of an endpoint take to arrive.
struct Arrival {
    /// As a share of its service time.
    of_service: f64,
    /// Seconds, as a mean over the responses of all endpoints.
    per_response: f64,
}

impl Arrival {
    fn of(evidence: &Evidence<'_>, id: EndpointId) -> Option<Self> {
        let tally = evidence.run.measured.endpoints.get(id.0 as usize)?;
        let (receive, service) =
            (&tally.phases[Phase::Receive as usize], &tally.outcomes[Outcome::Ok as usize].service);
        // What stands still for an acknowledgement is not on its way.
        let seconds = (receive.mean()? / 1e9 - delayed_ack::standing_time(evidence)).max(0.0);
        let of_all = receive.count() as f64 / evidence.answered().max(1) as f64;
        Some(Self { of_service: seconds / (service.mean()? / 1e9), per_response: seconds * of_all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::testing::Scene;

    /// A run with so many sampled texts, offered and compressed, of these bytes, which take this long to arrive.
    fn texts(offered: u64, compressed: u64, bytes: u64, receive: f64) -> Scene {
        let mut scene = Scene::with(move |sample, _, _| (sample.receive, sample.body) = (receive, bytes));
        let plain_bytes = (offered - compressed) * bytes;
        let looks = Looks { responses: 50, texts: 50, offered, compressed, plain_bytes, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        scene
    }

    #[test]
    fn text_that_arrives_slowly_without_compression_is_found_instead_of_its_transfer() {
        let scene = texts(50, 0, 60_000, 0.004);
        let finding = scene.found("no_compression").unwrap();
        assert_eq!((finding.evidence.len(), finding.subject.name.as_str()), (2, "GET /a"));
        assert!(finding.statement.contains("58.6 KiB each"), "{}", finding.statement);
        assert_eq!(scene.found("transfer"), None);
    }

    #[test]
    fn text_on_a_fast_network_is_found_only_where_it_fills_the_link_and_is_a_hint_where_it_is_long() {
        let says =
            |bytes| texts(50, 0, bytes, 0.000_01).found("no_compression").map(|found| found.confidence);
        assert_eq!(says(3_000), None, "one packet or two");
        assert_eq!(says(8_000), None);
        assert_eq!(says(20_000), Some(Confidence::Likely), "1,000 of 20 kB per second");
        let mut slow = Scene::sized(30, |_| 50, knee_core::schedule::Curve::constant(10.0), |_, _, _| {});
        slow.run.sampled = texts(50, 0, 20_000, 0.0).run.sampled;
        assert_eq!(slow.found("no_compression").unwrap().confidence, Confidence::Hint);
    }

    #[test]
    fn text_that_stands_still_for_an_acknowledgement_is_not_slow_for_want_of_compression() {
        let scene = texts(50, 0, 9_000, 0.041);
        assert!(scene.found("delayed_ack").is_some());
        assert_eq!(scene.found("no_compression"), None);
    }

    #[test]
    fn large_images_do_not_count_for_small_texts_and_one_endpoint_does_not_hide_another() {
        let mut scene = Scene::with(|sample, _, dice| {
            sample.endpoint = u32::from(dice.share() < 0.95);
            (sample.receive, sample.body) =
                if sample.endpoint == 1 { (0.02, 500_000) } else { (0.000_01, 5_000) };
        });
        scene.run.head.co_located = Some(true);
        let looks = Looks { texts: 50, offered: 50, plain_bytes: 50 * 5_000, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        assert_eq!(scene.found("no_compression"), None);
        assert!(scene.found("transfer").is_some());
        let mostly =
            Looks { texts: 900, offered: 900, compressed: 800, plain_bytes: 100 << 20, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(0), mostly);
        let none = Looks { texts: 50, offered: 50, plain_bytes: 50 * 50_000, ..Looks::default() };
        scene.run.sampled.endpoints.insert(EndpointId(1), none);
        assert_eq!(scene.found("no_compression").unwrap().subject.name, "GET /b");
    }

    #[test]
    fn compressed_text_is_healthy_and_a_load_that_does_not_accept_it_is_said() {
        assert_eq!(texts(50, 50, 60_000, 0.004).found("no_compression"), None);
        assert!(texts(0, 0, 60_000, 0.004).lacks("no_compression").unwrap().contains("Accept-Encoding"));
        let old = Scene::steady();
        assert!(old.lacks("no_compression").unwrap().starts_with("sampled responses"));
    }
}
