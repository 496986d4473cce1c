//! Pages, styles, images and files that are always the same, and that a client cannot keep.
//!
//! Needs sampled responses. Does not look at data such as JSON, which clients of services seldom keep, nor at bodies that
//! differ from each other.

use knee_core::plan::EndpointId;
use knee_core::sampled::Looks;

use super::no_compression::SAMPLED_MIN;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::number;
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};

pub(super) const RULE: Rule = Rule {
    code: "no_validators",
    finds: "pages that are always the same and cannot be kept: no ETag, Last-Modified or max-age",
    needs: "20 sampled responses to GET",
    limits: "of the sampled pages, styles, scripts, images and files of an endpoint, none has ETag, Last-Modified, Expires or max-age, and none says no-store; their mean body is 4 KiB; all their bodies are the same. With the load of a URL, which always asks for the same, a hint",
    source: "RFC 9110, 13.1: without a validator a client cannot ask whether what it has is still right, so the whole body is made and sent again. 4 KiB are three packets of Ethernet.",
    cause: "The service computes pages without ETag, or a proxy removes it.",
    remedy: "Send ETag, Last-Modified or Cache-Control, answer If-None-Match with 304, or let a cache before the service keep the page.",
    explains: &[],
    check,
};

const BODY: f64 = 4_096.0;

fn check(evidence: &Evidence<'_>) -> Checked {
    let endpoints = &evidence.sampled()?.endpoints;
    let drafts = endpoints.iter().filter_map(|(id, looks)| of_endpoint(evidence, *id, looks));
    Ok(drafts.collect())
}

fn of_endpoint(evidence: &Evidence<'_>, id: EndpointId, looks: &Looks) -> Option<Draft> {
    if looks.kept < SAMPLED_MIN || looks.kept < looks.responses || looks.bodies_differ {
        return None;
    }
    let body = looks.body_bytes as f64 / looks.kept as f64;
    let validated = looks.validated as f64 / looks.kept as f64;
    let of_sample = "the run: sampled responses";
    let without = Signal::at_most("pages with a validator", Unit::Share, Some(validated), 0.0, of_sample)?;
    let same = Signal::at_least(
        "mean body, always the same",
        Unit::Bytes,
        Some(body),
        BODY,
        "the run: checksums of sampled bodies",
    )?;
    let is_script = !evidence.is_of_url();
    Some(Draft {
        subject: Subject::of(SubjectKind::Endpoint, evidence.endpoint_name(id), None),
        statement: format!(
            "the same {} KiB are sent to each request, without ETag, Last-Modified or max-age by which a client could keep them",
            number(body / 1024.0)
        ),
        signals: [Some(without), Some(same).filter(|_| is_script)].into_iter().flatten().collect(),
        remedy: Remedy::advice("send an ETag, and answer If-None-Match with 304"),
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::testing::Scene;

    fn pages(change: impl FnOnce(&mut Looks)) -> Scene {
        let mut scene = Scene::steady();
        let mut looks =
            Looks { responses: 60, gets: 60, kept: 60, body_bytes: 60 * 20_480, ..Looks::default() };
        change(&mut looks);
        scene.run.sampled.endpoints.insert(EndpointId(1), looks);
        scene
    }

    #[test]
    fn a_page_that_is_always_the_same_and_cannot_be_kept_is_found() {
        let mut scene = pages(|_| {});
        assert_eq!(
            scene.found("no_validators").unwrap().confidence,
            Confidence::Hint,
            "a URL is always the same"
        );
        scene.script();
        let finding = scene.found("no_validators").unwrap();
        assert_eq!((finding.subject.name.as_str(), finding.evidence.len()), ("GET /b", 2));
        assert!(finding.statement.starts_with("the same 20 KiB are sent"), "{}", finding.statement);
    }

    #[test]
    fn pages_with_validators_pages_that_differ_small_pages_and_data_are_healthy() {
        assert_eq!(pages(|looks| looks.validated = 60).found("no_validators"), None);
        assert_eq!(pages(|looks| looks.validated = 1).found("no_validators"), None);
        assert_eq!(pages(|looks| looks.bodies_differ = true).found("no_validators"), None);
        assert_eq!(pages(|looks| looks.body_bytes = 60 * 500).found("no_validators"), None);
        assert_eq!(pages(|looks| looks.kept = 0).found("no_validators"), None);
        assert_eq!(pages(|looks| looks.kept = 19).found("no_validators"), None, "too few");
    }
}
