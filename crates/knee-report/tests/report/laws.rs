//! What holds of every report, whatever was measured.

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::Stop;
use knee_report::text::{self, Style, ink};
use knee_report::{View, csv, json, oha_json};
use proptest::prelude::*;
use serde_json::Value;

use super::fixture::{self, Request};

/// Any request: from nanoseconds to seconds, any outcome, one of four endpoints.
fn request() -> impl Strategy<Value = Request> {
    let time = || prop_oneof![0u64..1_000, 0u64..10_000_000, 0u64..20_000_000_000];
    (0u64..20_000_000_000, time(), time(), 0usize..6, 0u32..4, any::<u16>(), 0..Fault::ALL.len()).prop_map(
        |(due, lag, service, outcome, endpoint, status, fault)| {
            let outcome = Outcome::ALL[outcome];
            let answered = matches!(outcome, Outcome::Ok | Outcome::HttpError);
            Request {
                endpoint,
                due,
                lag,
                service: (outcome != Outcome::Unsent).then_some(service + 10_000),
                outcome,
                status: answered.then_some(status),
                fault: (outcome == Outcome::TransportError).then_some((Fault::ALL[fault], "\x1b[31mred")),
            }
        },
    )
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(request(), 0..250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_report_fits_its_width_and_every_document_its_schema(
        requests in requests(),
        open in any::<bool>(),
        width in 60usize..200,
    ) {
        let plan = if open { fixture::open(20.0, 20) } else { fixture::closed(9.0, Stop::Requests(400)) };
        let view = View::of(&fixture::judged(plan, &requests));
        let style = Style { width, ..Style::default() };
        let report = text::render(&view, &style);
        for line in report.lines() {
            prop_assert!(ink::width(line) <= width, "{line}");
        }
        let validity = report.rsplit("\n\n").next().unwrap();
        prop_assert!(validity.starts_with("Validity: "), "{report}");
        let document: Value = serde_json::from_str(&json::render(&view)).unwrap();
        let validator = jsonschema::draft202012::new(&super::json::schema()).unwrap();
        let errors: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        prop_assert!(errors.is_empty(), "{errors:?}");
        prop_assert!(serde_json::from_str::<Value>(&oha_json::render(&view)).is_ok());
        prop_assert_eq!(csv::render(&view).lines().count(), view.series.len() + 1);
    }

    #[test]
    fn endpoints_add_up_to_the_whole(requests in requests()) {
        let view = View::of(&fixture::run(fixture::open(20.0, 20), &requests));
        let sum = |figure: fn(&knee_report::view::request_stats::RequestStats) -> u64| -> u64 {
            view.endpoints.iter().map(|endpoint| figure(&endpoint.stats)).sum()
        };
        prop_assert_eq!(sum(|part| part.books.planned), requests.len() as u64);
        prop_assert_eq!(sum(|part| part.books.planned), view.total.books.planned);
        prop_assert_eq!(sum(|part| part.response.count), view.total.response.count);
        prop_assert_eq!(sum(|part| part.bytes_received), view.total.bytes_received);
        prop_assert_eq!(view.histogram.iter().map(|row| row.count).sum::<u64>(), view.total.response.count);
    }
}
