//! Thresholds behave as they do in k6 v1.8.1, from which every message here was recorded.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Result<Expression, ExpressionError> {
    text.parse()
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn of(options: &Value) -> ThresholdTexts {
    ThresholdTexts::read(options).unwrap().unwrap()
}

fn kind_of(name: &str) -> Option<(Kind, Contains)> {
    let kind = match name {
        "http_reqs" => Some(Kind::Counter),
        "http_req_duration" => Some(Kind::Trend),
        "checks" => Some(Kind::Rate),
        "vus" => Some(Kind::Gauge),
        _ => None,
    };
    kind.map(|kind| (kind, Contains::Default))
}

#[test]
fn what_k6_accepts_is_accepted() {
    for text in [
        "count!=1",
        " count > 1 ",
        "count>+1",
        "count>-1",
        "count>.5",
        "count>Inf",
        "count>NaN",
        "count>1_000",
        "count>1e3",
        "count===1",
        "count\t>\n1",
        "p(95.5)<1",
        "p(.5)<1",
        "p(5.)<1",
        "p(1e1)<1",
        "p(+1)<1",
        "med<1",
        "p(99.99)<1e3",
    ] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn a_percentile_that_cannot_be_is_refused_before_any_load() {
    for text in ["p(101)<1", "p(-1)<1", "p(100.001)<1", "p(NaN)<1"] {
        let words = parse(text).unwrap_err().to_string();
        assert!(words.contains("is not from 0 to 100"), "{text}: {words}");
    }
    assert!(parse("p(0)<1").is_ok() && parse("p(100)<1").is_ok());
}

#[test]
fn what_k6_refuses_is_refused_in_its_words() {
    for text in ["", "count", "count>", "count = 1"] {
        assert_eq!(
            error(text),
            format!("failed parsing threshold expression {text:?}; reason: malformed threshold expression")
        );
    }
    for text in [
        "count>1 && count<2",
        "count=>3",
        "COUNT>1",
        ">1",
        "count count>1",
        "p95<1",
        "P(95)<1",
        "p(95<1",
        "p (95)<1",
        "sum<1",
    ] {
        assert_eq!(
            error(text),
            format!(
                "failed parsing threshold expression's {text:?} left hand side; reason: failed parsing method from expression"
            )
        );
    }
    for (text, number) in [
        ("count>abc", "abc"),
        ("count>1%", "1%"),
        ("count<>3", ">3"),
        ("count<=", "="),
        ("count>0x10", "0x10"),
    ] {
        assert_eq!(
            error(text),
            format!(
                "failed parsing threshold expresion's {text:?} right hand side; reason: strconv.ParseFloat: parsing {number:?}: invalid syntax"
            )
        );
    }
    assert_eq!(
        error("p()<1"),
        "failed parsing threshold expression's \"p()<1\" left hand side; reason: malformed percentile value; \
         reason: strconv.ParseFloat: parsing \"\": invalid syntax"
    );
}

#[test]
fn texts_and_objects_are_both_thresholds() {
    let options = json!({
        "http_reqs": ["count>0"],
        "checks": [{"threshold": "rate>0.9", "abortOnFail": true, "delayAbortEval": "10s"}],
    });
    let guarded = compile(&of(&options), kind_of).unwrap();
    assert_eq!(guarded[0].name, "checks");
    assert!(guarded[0].thresholds[0].aborts(SignedDuration::from_secs(10)));
    assert!(!guarded[0].thresholds[0].aborts(SignedDuration::from_secs(9)));
    assert!(!guarded[1].thresholds[0].aborts(SignedDuration::from_secs(99)));
}

#[test]
fn other_shapes_are_refused() {
    for options in [
        json!({"http_reqs": "count>0"}),
        json!({"http_reqs": [3]}),
        json!({"http_reqs": [{"threshold": "count>0", "abortOnFail": "x"}]}),
        json!({"http_reqs": [{"abortOnFail": true}]}),
        json!(["count>0"]),
    ] {
        assert!(ThresholdTexts::read(&options).is_err(), "{options}");
    }
}

#[test]
fn a_threshold_must_fit_its_metric() {
    let refused = |options| compile(&of(&options), kind_of).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"http_reqs": ["avg>0"]})),
        "invalid threshold \"avg>0\" applied on metric http_reqs; reason: unsupported aggregation method avg on \
         metric of type counter. supported aggregation methods for this metric are: count, rate"
    );
    assert_eq!(
        refused(json!({"http_req_duration": ["count<1"]})),
        "invalid threshold \"count<1\" applied on metric http_req_duration; reason: unsupported aggregation method \
         count on metric of type trend. supported aggregation methods for this metric are: avg, min, max, med, p"
    );
    assert_eq!(
        refused(json!({"nope": ["avg>0"]})),
        "invalid threshold defined on nope; reason: no metric name \"nope\" found"
    );
    assert_eq!(
        refused(json!({"http_reqs{a}": ["count>0"]})),
        "unable to validate threshold expressions; reason: parsing metric name failed, metric \"a\" tag expression is malformed"
    );
}

#[test]
fn without_samples_a_rate_passes_and_everything_else_is_zero() {
    let holds = |kind, source: &str| {
        let text = ThresholdText {
            source: source.into(),
            abort_on_fail: false,
            delay_abort_eval: SignedDuration::ZERO,
        };
        Threshold::parse(&text).unwrap().holds(&Sink::new(kind), SignedDuration::from_secs(1))
    };
    assert!(holds(Kind::Rate, "rate>0.5") && holds(Kind::Rate, "rate<0.5"));
    assert!(
        !holds(Kind::Trend, "p(95)>1") && !holds(Kind::Gauge, "value>1") && !holds(Kind::Counter, "count>1")
    );
    assert!(holds(Kind::Trend, "p(95)<1"));
}

#[test]
fn while_a_run_goes_on_metrics_without_samples_are_left_alone() {
    let options = json!({
        "http_reqs": [{"threshold": "count<1", "abortOnFail": true, "delayAbortEval": "2s"}],
        "vus": ["value>0"],
    });
    let guards = compile(&of(&options), kind_of).unwrap();
    let mut counter = Sink::new(Kind::Counter);
    counter.add(3.0, 0);
    let sink_of = |name: &str| (name == "http_reqs").then(|| counter.clone());
    let at = |seconds, is_over| judge(&guards, sink_of, SignedDuration::from_secs(seconds), is_over).1;
    assert_eq!(at(1, false), Verdict { crossed: vec!["http_reqs".into()], abort: false });
    assert!(at(2, false).abort);
    assert_eq!(at(2, true).crossed, ["http_reqs", "vus"]);
}

#[test]
fn a_verdict_lists_the_metrics_as_k6_does() {
    let verdict = Verdict { crossed: vec!["my_counter{a:b}".into(), "my_rate".into()], abort: false };
    assert_eq!(verdict.to_string(), "thresholds on metrics 'my_counter{a:b}, my_rate' have been crossed");
}

proptest! {
    #[test]
    fn blanks_around_the_parts_do_not_matter(
        method in prop::sample::select(vec!["count", "rate", "avg", "p(95)"]),
        sign in prop::sample::select(vec!["<=", "<", ">=", ">", "===", "==", "!="]),
        limit in -1e9f64..1e9,
        blanks in "[ \t]{0,3}",
    ) {
        let tight = parse(&format!("{method}{sign}{limit}")).unwrap();
        let wide = parse(&format!("{blanks}{method}{blanks}{sign}{blanks}{limit}{blanks}")).unwrap();
        prop_assert_eq!(tight, wide);
        prop_assert_eq!(tight.limit, limit);
    }

    #[test]
    fn exactly_one_of_less_equal_greater_holds(value in -1e3f64..1e3, limit in -1e3f64..1e3) {
        let holds = |sign: &str| parse(&format!("avg{sign}{limit}")).unwrap().holds(value);
        let count = ["<", "==", ">"].into_iter().filter(|sign| holds(sign)).count();
        prop_assert_eq!(count, 1);
        prop_assert_eq!(holds("<="), !holds(">"));
        prop_assert_eq!(holds("!="), !holds("=="));
    }

    #[test]
    fn no_mixture_of_its_parts_makes_the_parser_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "p(", ")", "95", "99.9", "count", "rate", "avg", "<", ">", "=", "==", "===", "!=", "<=", " ", "\t", "-", "+",
                "_", ".", "1e", "1_0", "inf", "NaN", "{", "}", ":", ",", "a", "\"", "ü", "\u{0}", "1e999", "http_reqs",
            ]),
            0..12,
        )
    ) {
        let text = parts.concat();
        if let Ok(expression) = parse(&text) {
            // What is accepted can be judged.
            let _ = expression.holds(expression.limit);
        }
        let texts = ThresholdTexts::from([(
            text.clone(),
            vec![ThresholdText { source: text, abort_on_fail: false, delay_abort_eval: SignedDuration::ZERO }],
        )]);
        let _ = compile(&texts, kind_of);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,60}") {
        let _ = parse(&text);
        let _ = crate::metric::Key::parse(&text);
    }
}
