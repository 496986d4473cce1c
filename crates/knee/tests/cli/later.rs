//! Records of later versions: what is not known is shown under its name, and what cannot be read is refused.

use crate::program::{Finished, Home, number};
use crate::record::{frame, head, packed, record_of};

/// Four seconds with three requests each that ended in a way that this version does not know.
const LATER: &[u8] = include_bytes!("../../../knee-core/tests/fixtures/v2-later.knee");

fn reported(home: &Home, bytes: &[u8]) -> Finished {
    home.knee("report").arg(home.file("later.knee", bytes)).run()
}

#[test]
fn outcomes_phases_and_faults_of_a_later_version_are_shown_under_their_names() {
    let home = Home::new();
    let told = reported(&home, LATER);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    for line in [
        "812 planned = 720 ok + 72 http_error + 4 transport_error + 4 timeout + 12 shed",
        "server     12  `overloaded`, which this version does not know",
        "- come back later",
        "outcome `shed` (12 requests), phase `queue` (12 requests)",
        "6 frames with observations",
    ] {
        let text = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&line), "{line}\n{}", told.stdout);
    }
    assert!(told.stdout.lines().any(|line| line.trim_start().starts_with("queue ")), "{}", told.stdout);
    let run = home.report("later.knee");
    assert_eq!(number(&run, "/requests/unknown/shed"), 12);
    assert_eq!(number(&run, "/phases_ms/unknown/queue/count"), 12);
    assert_eq!(number(&run, "/series/2/unknown"), 3);
    let known = number(&run, "/requests/ok") + number(&run, "/requests/http_error");
    assert_eq!(number(&run, "/response_time_ms/count"), known + 8 + 12);
}

#[test]
fn a_record_with_frames_on_which_others_depend_is_refused_with_words() {
    let home = Home::new();
    let finished = reported(&home, &record_of(2, &packed(&head()), &[frame(200, b"")]));
    assert!(finished.stderr.contains("this version cannot read frames of kind 200"), "{}", finished.stderr);
}
