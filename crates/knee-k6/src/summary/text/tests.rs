//! The text is k6's to the byte: recorded from k6 v1.8.1, run with the samples of `sample`.

use super::super::sample;
use super::*;
use crate::metric::meter::Place;
use crate::metric::{BuiltIn, Catalog, Contains, Key, Meter, TagSet};
use crate::read::Read;
use crate::threshold::{ThresholdTexts, compile, judge};
use std::sync::Arc;

const COMPACT: [&str; 60] = [
    "",
    "",
    "  █ THRESHOLDS ",
    "",
    "    http_req_duration{a:x}",
    "    ✓ 'max<100' max=12.34ms",
    "",
    "    my_counter",
    "    ✓ 'count>1' count=7",
    "    ✗ 'count<3' count=7",
    "",
    "    my_gauge",
    "    ✗ 'value<1' value=2",
    "",
    "    my_rate",
    "    ✓ 'rate>0.5' rate=66.66%",
    "",
    "    my_trend{a:b}",
    "    ✗ 'avg<5' avg=7.5",
    "    ✗ 'p(95)<10' p(95)=12.9",
    "",
    "",
    "  █ TOTAL RESULTS ",
    "",
    "    checks_total.......: 4      848.638349/s",
    "    checks_succeeded...: 50.00% 2 out of 4",
    "    checks_failed......: 50.00% 2 out of 4",
    "",
    "    ✓ one",
    "    ✗ two",
    "      ↳  0% — ✓ 0 / ✗ 1",
    "    ✓ in g",
    "    ✗ in h",
    "      ↳  0% — ✓ 0 / ✗ 1",
    "",
    "    CUSTOM",
    "    my_counter.....................: 7      1485.117111/s",
    "    my_gauge.......................: 2      min=2         max=3.5",
    "    my_rate........................: 66.66% 2 out of 3",
    "    my_time........................: avg=617.28ms min=0s      med=617.28ms max=1.23s   p(90)=1.11s   p(95)=1.17s  ",
    "    my_trend.......................: avg=7.5      min=0       med=7.5      max=15      p(90)=13.5    p(95)=14.25  ",
    "      { a:b }......................: avg=7.5      min=1.5     med=7.5      max=13.5    p(90)=12.3    p(95)=12.9   ",
    "",
    "    HTTP",
    "    http_req_duration..............: avg=12.34ms  min=12.34ms med=12.34ms  max=12.34ms p(90)=12.34ms p(95)=12.34ms",
    "      { a:x }......................: avg=12.34ms  min=12.34ms med=12.34ms  max=12.34ms p(90)=12.34ms p(95)=12.34ms",
    "      { expected_response:true }...: avg=12.34ms  min=12.34ms med=12.34ms  max=12.34ms p(90)=12.34ms p(95)=12.34ms",
    "    http_reqs......................: 1      212.159587/s",
    "",
    "    EXECUTION",
    "    iteration_duration.............: avg=4.02ms   min=4.02ms  med=4.02ms   max=4.02ms  p(90)=4.02ms  p(95)=4.02ms ",
    "    iterations.....................: 1      212.159587/s",
    "",
    "    NETWORK",
    "    data_received..................: 0 B    0 B/s",
    "    data_sent......................: 0 B    0 B/s",
    "",
    "",
    "",
    "",
];

/// What follows the total in the full text.
const GROUPS: [&str; 22] = [
    "",
    "",
    "  █ GROUP: G ",
    "",
    "    checks_total.......: 1       212.159587/s",
    "    checks_succeeded...: 100.00% 1 out of 1",
    "    checks_failed......: 0.00%   0 out of 1",
    "",
    "    ✓ in g",
    "",
    "    ↳ GROUP: H ",
    "",
    "      checks_total.......: 1       212.159587/s",
    "      checks_succeeded...: 0.00%   0 out of 1",
    "      checks_failed......: 100.00% 1 out of 1",
    "",
    "      ✗ in h",
    "          ↳  0% — ✓ 0 / ✗ 1",
    "",
    "",
    "",
    "",
];

#[test]
fn the_compact_text_is_that_of_k6() {
    let text = render(&sample::summary(false), Style::default());
    assert_eq!(text.lines().collect::<Vec<_>>(), COMPACT[..COMPACT.len() - 1]);
    assert!(text.ends_with("\n\n\n\n") && !text.ends_with("\n\n\n\n\n"));
}

#[test]
fn the_full_text_has_groups_below_the_total() {
    let text = render(&sample::summary(true), Style { full: true, color: false });
    let compact = COMPACT[..COMPACT.len() - 4].join("\n");
    let rest = text.strip_prefix(&compact).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(rest, format!("\n{}", GROUPS.join("\n")));
}

#[test]
fn colours_are_those_of_k6_and_do_not_count_as_width() {
    let text = render(&sample::summary(false), Style { full: false, color: true });
    for line in [
        "  █ \u{1b}[1mTHRESHOLDS\u{1b}[0m ",
        "    \u{1b}[31m✗\u{1b}[0m \u{1b}[37m'count<3'\u{1b}[0m \u{1b}[37mcount\u{1b}[0m=\u{1b}[36m7\u{1b}[0m",
        "    checks_total\u{1b}[2;37m.......:\u{1b}[0m \u{1b}[36m4\u{1b}[0m      \u{1b}[2;36m848.638349/s\u{1b}[0m",
        "    \u{1b}[31m✗ two\u{1b}[0m",
        "    \u{1b}[1mCUSTOM\u{1b}[0m",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is missing in {text:?}");
    }
    let plain: String = text
        .split('\u{1b}')
        .enumerate()
        .map(
            |(place, part)| {
                if place == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) }
            },
        )
        .collect();
    assert_eq!(plain, render(&sample::summary(false), Style::default()));
}

#[test]
fn named_scenarios_and_long_numbers_stand_as_in_k6() {
    let mut catalog = Catalog::new();
    let gauge = catalog.declare("gg", Kind::Gauge, Contains::Time).unwrap();
    let counter = catalog.declare("ctime", Kind::Counter, Contains::Time).unwrap();
    let mut meter = Meter::new(Arc::new(catalog), true);
    let place = Place { scenario: "mine", group: "::outer2", at: 1 };
    meter.add(gauge, 3.5, &place, &());
    meter.add(counter, 4938.0, &place, &());
    meter.add(BuiltIn::HttpReqWaiting.id(), 1.0, &Place { group: "", ..place }, &());
    meter.enter(&place);
    let stage = Place { scenario: "", group: "::setup", at: 0 };
    meter.check("in setup", true, &stage);
    meter.add(BuiltIn::Checks.id(), 1.0, &stage, &());
    let summary = Summary {
        meter,
        elapsed: SignedDuration::from_secs(2),
        judged: Vec::new(),
        ..sample::summary(false)
    };
    let text = render(&summary, Style { full: true, color: false });
    let from = text.find("  █ SCENARIO: mine \n").unwrap_or_else(|| panic!("{text}"));
    let expected = [
        "  █ SCENARIO: mine ",
        "",
        "    CUSTOM",
        "    ctime..............: 4.93s 2.46s/s",
        "    gg.................: 3.5ms min=3.5ms max=3.5ms",
        "",
        "    HTTP",
        "    http_req_waiting...: avg=1ms min=1ms med=1ms max=1ms p(90)=1ms p(95)=1ms",
        "",
        "    ↳ GROUP: outer2 ",
        "",
        "      CUSTOM",
        "      ctime...: 4.93s 2.46s/s",
        "      gg......: 3.5ms min=3.5ms max=3.5ms",
    ];
    assert_eq!(text[from..].lines().take(expected.len()).collect::<Vec<_>>(), expected);
    assert!(!text.contains("GROUP: setup"), "setup has no part of its own: {text}");
    let compact = render(&summary, Style::default());
    assert!(!compact.contains("http_req_waiting") && !compact.contains("SCENARIO"), "{compact}");
}

#[test]
fn figures_that_are_not_shown_have_no_value_beside_their_threshold() {
    let mut summary = sample::summary(false);
    summary.trend_stats = vec!["count".into(), "p(99.99)".into(), "med".into()];
    summary.time_unit = Some("s".into());
    let text = render(&summary, Style::default());
    for line in [
        "    ✗ 'avg<5' avg=",
        "    ✗ 'p(95)<10' p(95)=12.9",
        "    my_time........................: count=11 p(99.99)=1.23s   med=0.62s",
        "    my_trend.......................: count=11 p(99.99)=14.9985 med=7.5  ",
        "      { a:x }......................: count=1  p(99.99)=0.01s   med=0.01s",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is missing in {text}");
    }
}

/// Clears the screen, sets the title, and turns the direction of reading.
const BITE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{9b}31m\u{202e}x";

/// A summary in which everything that a script names is the bite.
fn bitten() -> Summary {
    let threshold = format!("my_counter{{a:{BITE}}}");
    let mut catalog = Catalog::new();
    let counter = catalog.declare("my_counter", Kind::Counter, Contains::Default).unwrap();
    catalog.keep_apart(&Key::parse(&threshold).unwrap());
    let mut meter = Meter::new(Arc::new(catalog), true);
    let tags = TagSet::from_iter([("a", BITE)]);
    for scenario in ["", BITE] {
        let (outer, inner) = (format!("::{BITE}"), format!("::{BITE}::{BITE}"));
        for group in ["", &outer, &inner] {
            let place = Place { scenario, group, at: 1 };
            meter.enter(&place);
            meter.add(counter, 1.0, &place, &tags);
            for passed in [true, false] {
                meter.check(&format!("{BITE}{passed}"), passed, &place);
                meter.add(BuiltIn::Checks.id(), 1.0, &place, &());
            }
        }
    }
    let texts = serde_json::json!({ threshold.as_str(): [{ "threshold": "count>1" }] });
    let texts = ThresholdTexts::read(&texts).unwrap().unwrap();
    let guards = compile(&texts, |_| Some((Kind::Counter, Contains::Default))).unwrap();
    let elapsed = SignedDuration::from_secs(1);
    let (mut judged, _) = judge(&guards, |name| meter.find(name).cloned(), elapsed, true);
    judged[0].thresholds[0].source.push_str(BITE);
    Summary { meter, judged, elapsed, ..sample::summary(false) }
}

#[test]
fn names_of_a_script_cannot_steer_the_terminal() {
    for full in [false, true] {
        let text = render(&bitten(), Style { full, color: false });
        let acting: Vec<char> = text.chars().filter(|c| *c != '\n' && clean::is_hostile(*c)).collect();
        assert!(acting.is_empty(), "{acting:?} in {text:?}");
        let shown = r"\x1b[2J\x1b]0;owned\x07\r\u{9b}31m\u{202e}x";
        for line in [
            format!("    my_counter{{a:{shown}}}"),
            format!("    ✓ 'count>1{shown}' count=6"),
            format!("    ✓ {shown}true"),
            format!("    ✗ {shown}false"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing in {text}");
        }
        assert!(text.contains(&format!("      {{ a:{shown} }}...: 6 ")), "{text}");
        for title in ["█ SCENARIO:", "█ GROUP:", "↳ GROUP:"] {
            assert_eq!(text.contains(&format!("  {title} {shown} \n")), full, "{title} in {text}");
        }
    }
}

#[test]
fn with_colours_only_those_of_the_summary_reach_the_terminal() {
    let text = render(&bitten(), Style { full: true, color: true });
    for piece in text.split('\u{1b}').skip(1) {
        let code = piece.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(code, _)| code);
        assert!(
            code.is_some_and(|code| ["0", "1", "2;37", "36", "2;36", "37", "32", "31"].contains(&code)),
            "{piece:?}"
        );
    }
    assert!(!text.chars().any(|c| !matches!(c, '\n' | '\u{1b}') && clean::is_hostile(c)), "{text:?}");
}
