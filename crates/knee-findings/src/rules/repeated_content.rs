//! Responses that have the same long content many times: a picture or an object in each entry of a list.
//!
//! Needs sampled responses, of which the beginnings of a few long ones are searched for parts that they have more than
//! once, before content decoding: what is compressed well has none. Does not know what the content is.

use knee_core::outcome::Outcome;
use knee_core::plan::EndpointId;
use knee_core::sampled::Looks;
use knee_core::tally::Phase;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;

pub(super) const RULE: Rule = Rule {
    code: "repeated_content",
    finds: "responses that have the same long content many times",
    needs: "sampled responses, with 4 bodies of one endpoint of 32 KiB and more that were searched for parts that they have more than once",
    limits: "half of the first 256 KiB of these bodies are in contents of 1 KiB and more that the same body had before (so a content of up to 128 KiB is seen in a long list), and that share of the mean body of all responses is 32 KiB at least. Both, or nothing",
    source: "32 KiB are more than the first flight of a TCP connection (10 segments, RFC 6928). gzip does not see that a part is repeated if the first one is more than 32 KiB before it (RFC 1951).",
    cause: "Each entry of a list has a copy of what all of them share: a picture in base64, an author with all fields, a schema.",
    remedy: "Send it once, beside the list, and refer to it; or send its address, so that a client fetches and keeps it.",
    explains: &["transfer"],
    check,
};

const SEARCHED_MIN: u64 = 4;
const REPEATED: f64 = 0.5;
const BYTES: f64 = 32_768.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let endpoints = evidence.sampled()?.endpoints.iter();
    let searched: Vec<_> = endpoints.filter(|(_, looks)| looks.searched >= SEARCHED_MIN).collect();
    if searched.is_empty() {
        let lacks = "long bodies of one endpoint that were searched for what they repeat";
        return Err(Lack::of(format!("{SEARCHED_MIN} {lacks}")));
    }
    Ok(searched.into_iter().filter_map(|(id, looks)| repeated(evidence, *id, looks)).collect())
}

fn repeated(evidence: &Evidence<'_>, id: EndpointId, looks: &Looks) -> Option<Draft> {
    let repeated = Signal::at_least(
        "share of the bytes of sampled bodies that the same body had before",
        Unit::Share,
        Some(looks.repeated_bytes as f64 / looks.searched_bytes as f64),
        REPEATED,
        "the run: parts of sampled bodies",
    )?;
    let tally = evidence.run.measured.endpoints.get(id.0 as usize)?;
    let answered = tally.count(Outcome::Ok).saturating_add(tally.count(Outcome::HttpError)) as f64;
    let body = tally.bytes_body as f64 / answered;
    let bytes = Signal::at_least(
        "bytes per response that are sent again",
        Unit::Bytes,
        Some(body * repeated.figure),
        BYTES,
        "the run: bytes",
    )?;
    let arrival = tally.phases[Phase::Receive as usize].mean().map(|nanos| nanos / 1e9);
    let of_all = answered / evidence.answered() as f64;
    let saved = arrival.map(|arrival| arrival * repeated.figure * of_all);
    Some(Draft {
        subject: Subject::of(SubjectKind::Endpoint, evidence.endpoint_name(id), None),
        statement: format!(
            "a response has {} bytes, of which {} repeat a part of the same response",
            number(body),
            percent(repeated.figure)
        ),
        signals: vec![repeated, bytes],
        remedy: Remedy::advice("send what all entries share once, or its address, and refer to it"),
        gain: Gain::saves(
            evidence.response_mean(),
            saved,
            "the arrival of the repeated bytes; making them takes time as well",
        ),
    })
}

#[cfg(test)]
mod tests {
    use knee_core::plan::EndpointId;
    use knee_core::sampled::Looks;

    use crate::Confidence;
    use crate::testing::Scene;

    /// Responses of so many bytes, and so many searched ones, of whose bytes this many of 100 repeat.
    fn lists(body: u64, searched: u64, repeated: u64) -> Scene {
        let mut scene = Scene::with(move |sample, _, _| sample.body = body);
        let looks = Looks {
            responses: 100,
            searched,
            searched_bytes: searched * body,
            repeated_bytes: searched * body * repeated / 100,
            ..Looks::default()
        };
        scene.run.sampled.endpoints.insert(EndpointId(0), looks);
        scene
    }

    #[test]
    fn a_picture_in_each_entry_of_a_list_is_found_with_its_share() {
        let finding = lists(1_200_000, 20, 88).found("repeated_content").unwrap();
        assert_eq!((finding.confidence, finding.subject.name.as_str()), (Confidence::Likely, "GET /a"));
        let says = "a response has 1,200,000 bytes, of which 88 % repeat a part of the same response";
        assert_eq!(finding.statement, says);
    }

    #[test]
    fn a_picture_of_96_kib_is_found_although_the_searched_beginning_has_less_than_three_of_them() {
        let mut scene = lists(1_180_746, 8, 0);
        let looks = scene.run.sampled.endpoints.get_mut(&EndpointId(0)).unwrap();
        // As the load generator counts them in twelve wishes with one picture.
        (looks.searched_bytes, looks.repeated_bytes) = (8 * 262_144, 8 * 163_743);
        let finding = scene.found("repeated_content").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.statement.contains("62 % repeat a part"), "{}", finding.statement);
    }

    #[test]
    fn bodies_that_repeat_little_and_short_ones_are_healthy() {
        assert_eq!(lists(1_200_000, 20, 40).found("repeated_content"), None);
        assert_eq!(lists(30_000, 20, 90).found("repeated_content"), None);
    }

    #[test]
    fn a_few_bodies_and_records_of_earlier_versions_cannot_say() {
        let lacks = "4 long bodies of one endpoint that were searched for what they repeat";
        assert_eq!(lists(1_200_000, 3, 90).lacks("repeated_content").unwrap(), lacks);
        assert!(Scene::steady().lacks("repeated_content").unwrap().contains("sampled responses"));
    }
}
