//! The report as people read it, at 80 columns.

use knee_core::observation::{FigureUnit, Series, SeriesKind, Text};
use knee_core::outcome::Fault;
use knee_core::plan::Stop;
use knee_core::record::Run;
use knee_core::tally::Phase;
use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::clean::is_hostile;
use knee_report::number::{self, Unit};
use knee_report::text::{self, Palette, Style};
use knee_report::view::reading::Reading;
use knee_report::{View, text::ink};

use super::fixture::{self, Request};

fn report(run: &Run) -> String {
    text::render(&View::of(run), &Style::default())
}

/// The last block of the report.
fn validity(run: &Run) -> Vec<String> {
    let report = report(run);
    report.trim_end().rsplit("\n\n").next().unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_healthy_open_run() {
    insta::assert_snapshot!(report(&fixture::healthy_open()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    open, 12,000/s evenly spaced, at most 50 in flight, 10.0 s, 2 workers
    Goodput 11,999.0/s, response time p50 785 us and p99 3.53 ms,
    all 120,000 requests ok

    Summary
      Requests    120,000 planned = 120,000 ok
      Rate        11,999.0/s achieved, 12,000.0/s scheduled
      Duration    10.0 s
      Data        97.3 MiB received, 9.73 MiB/s, 7.78 MiB sent, 1 distinct body
      Connections 50 opened

    Times in ms, over all 120,000 requests
              response time   service time   send delay
      mean            1.002          0.998       0.0040
      min             0.302          0.300       0.0020
      p50             0.785          0.781       0.0034
      p90             1.917          1.913       0.0066
      p95             2.394          2.390       0.0080
      p99             3.529          3.525       0.0112
      p99.9           5.095          5.091       0.0155
      max             8.444          8.438       0.0278

    Response time histogram up to, in ms
      0.625  [44,532]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
      0.947  [27,825]  ■■■■■■■■■■■■■■■■■■■■
      1.270  [17,617]  ■■■■■■■■■■■■■
      1.593  [10,922]  ■■■■■■■■
      1.915  [ 7,084]  ■■■■■
      2.238  [ 4,456]  ■■■
      2.561  [ 2,830]  ■■
      2.883  [ 1,708]  ■
      3.206  [ 1,155]  ■
      3.529  [   674]  ■
      8.444  [ 1,197]  ■

    Phases in ms, of the requests that had the phase
                average           p50     max   requests
      connect     0.115   – (n < 200)   0.139         50
      send        0.006         0.006   0.006    120,000
      wait        0.991         0.774   8.431    120,000
      receive     0.001         0.001   0.001    120,000

    Status codes
      200   120,000 answers

    Validity: valid, no warnings
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %;
      loop lag p99 140 us; in flight mean 12.3, max 50; Little's law off by 0.12 %;
      throttled 0 of 100 periods; steal 0 %; descriptors 67 of 1,024
      note: target and generator share this machine's CPUs [co_located]
    ");
}

#[test]
fn a_small_closed_run_shows_only_what_its_sample_carries() {
    insta::assert_snapshot!(report(&fixture::small_closed()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    closed, 50 connections, 200 requests, 2 workers
    Goodput 32,471.9/s, response time p50 69.1 us and max 305 us,
    all 200 requests ok

    Summary
      Requests    200 planned = 200 ok
      Rate        32,471.9/s achieved
      Duration    6.16 ms
      Data        166 KiB received, 26.3 MiB/s, 13.3 KiB sent, 1 distinct body
      Connections 50 opened

    Times in us, over all 200 requests
                response time      service time        send delay
      mean               76.4              74.9              1.50
      min                46.6              45.1              1.50
      p50                69.1              67.6              1.50
      p90       – (n < 1,000)     – (n < 1,000)     – (n < 1,000)
      p95       – (n < 2,000)     – (n < 2,000)     – (n < 2,000)
      p99      – (n < 10,000)    – (n < 10,000)    – (n < 10,000)
      p99.9   – (n < 100,000)   – (n < 100,000)   – (n < 100,000)
      max               305.3             303.8              1.50
      – p90 needs 1,000 requests (30.8 ms at this rate), p95 2,000 (61.6 ms),
        p99 10,000 (308 ms), p99.9 100,000 (4.00 s)

    Response time histogram up to, in us
       70.1  [102]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
       93.6  [ 64]  ■■■■■■■■■■■■■■■■■■■■
      117.2  [ 19]  ■■■■■■
      140.7  [  7]  ■■
      164.2  [  2]  ■
      187.7  [  3]  ■
      211.2  [  2]  ■
      234.8  [  0]
      258.3  [  0]
      281.8  [  0]
      305.3  [  1]  ■

    Phases in us, of the requests that had the phase
                average           p50      max   requests
      connect    114.50   – (n < 200)   139.00         50
      send         6.00          6.00     6.00        200
      wait        67.94         60.61   296.81        200
      receive      1.00          1.00     1.00        200

    Status codes
      200   200 answers

    Validity: valid, no warnings
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %;
      loop lag p99 140 us; in flight mean 12.3, max 50; Little's law off by 0.12 %;
      throttled 0 of 100 periods; steal 0 %; descriptors 67 of 1,024
      note: target and generator share this machine's CPUs [co_located]
    ");
}

/// The report of an overloaded server: its times, and what follows them.
fn parts_of_overload() -> (String, String) {
    let text = report(&fixture::overload());
    let at = text.find("Phases in ms").unwrap_or(text.len());
    (text[..at].trim_end().to_owned(), text[at..].to_owned())
}

#[test]
fn an_overloaded_server_is_called_so_and_its_times_are_lower_bounds() {
    insta::assert_snapshot!(parts_of_overload().0, @r"
    knee 0.1.0  http://127.0.0.1:8080/
    open, 2,000/s evenly spaced, at most 50 in flight, 10.0 s, 2 workers
    suspect: overloaded: the server takes 5,018 of 20,000 requests/s on 50
             connections [rate]
    Goodput 1,119.0/s, response time p50 ≥ 2.00 s and p99 ≥ 3.99 s,
    35.0 % of 20,000 requests not ok

    Summary
      Requests    20,000 planned = 13,000 ok + 1,000 http_error + 1,800 timeout
                  + 4,165 unsent + 35 censored
      Rate        1,119.0/s achieved, 2,000.0/s scheduled
      Duration    10.0 s, 33.0 s more until the last request ended
      Data        11.3 MiB received, 995 KiB/s, 1.03 MiB sent, 1 distinct body
      Connections 50 opened

    Times in s, over all 20,000 requests
                response time      service time        send delay
      mean             ≥ 1.85          ≥ 0.3180              1.49
      min                0.02            0.0200              0.00
      p50              ≥ 2.00            0.0242              1.98
      p90              ≥ 2.03          ≥ 1.9996              1.99
      p95              ≥ 3.99          ≥ 1.9996              1.99
      p99              ≥ 3.99          ≥ 1.9996              1.99
      p99.9   – (n < 100,000)   – (n < 100,000)   – (n < 100,000)
      max             ≥ 32.99         ≥ 31.0000              1.99
      – p99.9 needs 100,000 requests (50.0 s at this rate)
      ≥ at least: 6,000 requests did not end in time, so their full times are
        unknown.
      ! The p99 of the response time is ≥ 3.99 s over all requests and 2.03 s over
        OK responses alone: the tail contains failed requests.

    Response time histogram up to, in s; □ took at least that long
       0.42  [1,576]  ■■■■■■■■
       0.82  [1,585]  ■■■■■■■■
       1.21  [1,589]  ■■■■■■■■
       1.61  [1,587]  ■■■■■■■■
       2.01  [5,748]  ■■■■■■■■□□□□□□□□□□□□□□□□□□□□□□
       2.40  [6,080]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
       2.80  [    0]
       3.20  [    0]
       3.59  [    0]
       3.99  [1,800]  □□□□□□□□□
      32.99  [   35]  □
    ");
}

#[test]
fn an_overloaded_server_is_to_blame_and_every_warning_is_listed() {
    insta::assert_snapshot!(parts_of_overload().1, @r"
    Phases in ms, of the requests that had the phase
                average           p50      max   requests
      connect     0.115   – (n < 200)    0.139         50
      send        0.006         0.006    0.006     14,000
      wait       25.008        23.478   63.270     14,000
      receive     0.001         0.001    0.001     14,000

    Status codes
      200   13,000 answers
      503    1,000 answers

    Errors and who is to blame
      server     1,800  no complete response within the time limit
                        - no answer in 2 s

    Validity: suspect, 4 warnings; read these figures with the warnings
      suspect: overloaded: the server takes 5,018 of 20,000 requests/s on 50
               connections [rate]
      suspect: knee stood still for 600 ms, 1.0 % of the measured time [stall]
      suspect: generator lag p99 12.0 ms of 40.0 ms, limit 25 % [lag]
      suspect: 28,000 of 28,232 local ports towards one address were taken [ports]
      hint: ask for a lower rate, or allow more connections; `knee explain rate`
            says why
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %
      note: target and generator share this machine's CPUs [co_located]
    ");
}

#[test]
fn responses_that_are_no_streams_of_events_are_not_taken_for_a_service_that_is_down() {
    let of = |failed: u64| {
        let request = |k: u64| {
            let fault = if k < failed { Fault::NoEvents } else { Fault::Refused };
            Request::failed(k * 1_000_000, 1_000, 80_000, fault, "")
        };
        let requests: Vec<_> = (0..500_u64).map(request).collect();
        let mut run = fixture::run(fixture::closed(5.0, Stop::Requests(500)), &requests);
        run.validity = fixture::all_refused().validity;
        report(&run)
    };
    let pages = of(500);
    let why = "invalid: no request was answered with a stream of events [no_answer]";
    assert!(pages.contains(why), "{pages}");
    assert!(pages.contains("hint: leave out `--stream`, or check the content-type"), "{pages}");
    assert!(pages.contains("`--stream` is for responses with the content-type"), "{pages}");
    assert!(pages.lines().all(|line| ink::width(line) <= 80), "{pages}");
    let some = of(499);
    assert!(some.contains("invalid: no request was answered [no_answer]"), "{some}");
    assert!(!of(0).contains("stream"), "only where it helps");
}

#[test]
fn a_server_that_refuses_every_connection() {
    insta::assert_snapshot!(report(&fixture::all_refused()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    closed, 5 connections, 500 requests, 2 workers
    invalid: no request was answered [no_answer]

    Summary
      Requests    500 planned = 0 ok + 500 transport_error
      Rate        0.0/s achieved
      Duration    499 ms
      Data        0 B received, 0 B/s, 33.2 KiB sent
      Connections 0 opened

    Times in us, over all 500 requests
                response time      service time        send delay
      mean               81.0              80.0              1.00
      min                81.0              80.0              1.00
      p50                81.0              80.0              1.00
      p90       – (n < 1,000)     – (n < 1,000)     – (n < 1,000)
      p95       – (n < 2,000)     – (n < 2,000)     – (n < 2,000)
      p99      – (n < 10,000)    – (n < 10,000)    – (n < 10,000)
      p99.9   – (n < 100,000)   – (n < 100,000)   – (n < 100,000)
      max                81.0              80.0              1.00
      – p90 needs 1,000 requests (998 ms at this rate), p95 2,000 (2.00 s),
        p99 10,000 (10.0 s), p99.9 100,000 (100 s)

    Response time histogram up to, in us
      81.0  [500]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■

    Errors and who is to blame
      server     500  the server refused the connection
                      - Connection refused (os error 111)

    Validity: invalid, 1 warning; do not use these figures
      invalid: no request was answered [no_answer]
      hint: check that the server is running and that the URL is right;
            `knee explain no_answer` says why
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %
      note: target and generator share this machine's CPUs [co_located]
    ");
}

#[test]
fn a_run_in_which_nothing_was_due() {
    insta::assert_snapshot!(report(&fixture::empty()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    open, 10/s evenly spaced, at most 50 in flight, 1.00 s, 2 workers

    Summary
      Requests    0 planned = 0 ok
      Rate        –
      Duration    0 s
      Data        0 B received, 0 B sent
      Connections 0 opened
      Ending      the run was interrupted; knee waited for the requests in flight

    Validity: valid, no warnings
    ");
}

#[test]
fn a_record_without_an_end() {
    insta::assert_snapshot!(report(&fixture::truncated()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    open, 12,000/s evenly spaced, at most 50 in flight, 10.0 s, 2 workers
    suspect: the record has no end [truncated]
    Goodput 11,996.8/s, response time p50 786 us and p99 ≥ 3.49 ms,
    0.03 % of 48,000 requests not ok

    Summary
      Requests    48,000 planned = 47,987 ok + 13 censored
      Rate        11,996.8/s achieved, 12,000.0/s scheduled
      Duration    4.00 s
      Data        38.9 MiB received, 9.72 MiB/s, 3.11 MiB sent, 1 distinct body
      Connections 50 opened
      Ending      the record has no end: knee was killed, or the file is incomplete.
                  The figures cover the first 4.00 s

    Times in ms, over all 48,000 requests
                response time      service time        send delay
      mean            ≥ 0.999             0.996            0.0040
      min             ≥ 0.000             0.300            0.0020
      p50               0.786             0.782            0.0034
      p90             ≥ 1.908             1.905            0.0066
      p95             ≥ 2.372             2.370            0.0080
      p99             ≥ 3.490             3.490            0.0111
      p99.9   – (n < 100,000)   – (n < 100,000)   – (n < 100,000)
      max             ≥ 8.444             8.438            0.0278
      – p99.9 needs 100,000 requests (9.00 s at this rate)
      ≥ at least: 13 requests did not end in time, so their full times are unknown.

    Response time histogram up to, in ms; □ took at least that long
      0.349  [ 3,031]  ■■■■□
      0.698  [17,707]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
      1.048  [10,671]  ■■■■■■■■■■■■■■■■■■■
      1.397  [ 6,622]  ■■■■■■■■■■■■
      1.746  [ 3,923]  ■■■■■■■
      2.095  [ 2,397]  ■■■■
      2.444  [ 1,479]  ■■■
      2.793  [   831]  ■■
      3.143  [   554]  ■
      3.492  [   305]  ■
      8.444  [   480]  ■

    Phases in ms, of the requests that had the phase
                average           p50     max   requests
      connect     0.115   – (n < 200)   0.139         50
      send        0.006         0.006   0.006     47,987
      wait        0.989         0.775   8.431     47,987
      receive     0.001         0.001   0.001     47,987

    Status codes
      200   47,987 answers

    Validity: suspect, 1 warning; read these figures with the warnings
      suspect: the record has no end [truncated]
      hint: run again; the program was killed while it measured;
            `knee explain truncated` says why
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %
      note: target and generator share this machine's CPUs [co_located]
    ");
}

#[test]
fn three_endpoints_after_a_warm_up() {
    insta::assert_snapshot!(report(&fixture::three_endpoints()), @r"
    knee 0.1.0  http://127.0.0.1:8080/
    open, 3,000/s evenly spaced, at most 50 in flight, 12.0 s, warm-up 2.00 s,
    2 workers
    Goodput 2,916.7/s, response time p50 1.45 ms and p99 55.5 ms,
    2.8 % of 30,000 requests not ok

    Summary
      Requests    30,000 planned = 29,167 ok + 833 http_error
      Rate        2,916.7/s achieved, 3,000.0/s scheduled
      Duration    10.0 s
      Data        24.3 MiB received, 2.43 MiB/s, 1.95 MiB sent, 1 distinct body
      Connections 50 opened, 50 of them in the warm-up
      Warm-up     2.00 s, 6,000 requests, 167 of them not ok, not in these figures

    Times in ms, over all 30,000 requests
                response time      service time        send delay
      mean               5.16              5.15            0.0040
      min                0.20              0.20            0.0040
      p50                1.45              1.45            0.0040
      p90               13.00             12.99            0.0040
      p95               23.92             23.92            0.0040
      p99               55.54             55.54            0.0040
      p99.9   – (n < 100,000)   – (n < 100,000)   – (n < 100,000)
      max              191.24            191.24            0.0040
      – p99.9 needs 100,000 requests (34.0 s at this rate)

    Response time histogram up to, in ms
        5.74  [23,736]  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
       11.27  [ 2,821]  ■■■■
       16.81  [ 1,137]  ■■
       22.34  [   662]  ■
       27.87  [   435]  ■
       33.41  [   305]  ■
       38.94  [   227]  ■
       44.47  [   169]  ■
       50.01  [   109]  ■
       55.54  [   100]  ■
      191.24  [   299]  ■

    Phases in ms, of the requests that had the phase
                average     p50       max   requests
      send        0.006   0.006     0.006     30,000
      wait        5.146   1.442   191.232     30,000
      receive     0.001   0.001     0.001     30,000

    Endpoints response time in ms
                                  requests   not ok    mean     p50     p99      max
      GET /todos                    15,000        0    1.00    0.75    3.95     7.53
      POST /todos                   10,000        0    4.19    2.93   19.19    35.63
      GET /search?q={words of …      5,000      833   19.58   13.46       –   191.24

    Status codes
      200   29,167 answers
      500      833 answers

    Validity: valid, no warnings
      generator lag p99 12.4 us, max 412 us; worker CPU max 43.0 %; CPU wait 0.21 %;
      loop lag p99 140 us; in flight mean 12.3, max 50; Little's law off by 0.12 %;
      throttled 0 of 100 periods; steal 0 %; descriptors 67 of 1,024
      note: target and generator share this machine's CPUs [co_located]
    ");
}

#[test]
fn one_line_an_interval() {
    let mut lines = vec![text::interval_header()];
    for run in [fixture::healthy_open(), fixture::overload(), fixture::three_endpoints()] {
        lines.extend(run.series.iter().take(3).map(|point| text::interval_line(point, None)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    time      ok/s resp p50 resp max serv p50 serv max flight errors lag p99  CPU
      1s  11,990.0    794us   7.06ms    791us   7.06ms      0      0  10.9us  43%
      2s  11,999.0    785us   8.44ms    781us   8.44ms      0      0  11.2us  43%
      3s  12,003.0    781us   6.36ms    776us   6.35ms      0      0  11.4us  43%
      1s   1,236.0    189ms    351ms   23.7ms   59.6ms      0     65  40.0us  43%
      2s   1,268.0    516ms    695ms   23.4ms   55.9ms      0     67  40.0us  43%
      3s   1,264.0    850ms    1.02s   23.4ms   55.4ms      0     67  40.0us  43%
     1s*   2,904.0   1.46ms    120ms   1.46ms    120ms      0     83  4.00us  43%
     2s*   2,916.0   1.48ms    122ms   1.48ms    122ms      0     82  4.00us  43%
      3s   2,920.0   1.45ms    135ms   1.45ms    135ms      0     83  4.00us  43%
    ");
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for (name, run) in fixture::all() {
        let view = View::of(&run);
        for width in [60, 72, 80, 120, 200] {
            for unit in [None, Some(Unit::Ns), Some(Unit::Ms), Some(Unit::H)] {
                let style = Style { width, unit, ..Style::default() };
                for line in text::render(&view, &style).lines() {
                    assert!(ink::width(line) <= width, "{name} at {width}: {line}");
                    assert_eq!(line, line.trim_end(), "{name}");
                }
            }
        }
        for point in &run.series {
            assert_eq!(ink::width(&text::interval_line(point, None)), 80, "{name}");
        }
    }
}

#[test]
fn every_warning_is_shown_whole_with_its_code_and_the_worst_one_first_of_all() {
    let mut run = fixture::overload();
    for warnings in 1..12 {
        run.validity.warnings =
            (0..warnings).map(|k| fixture::warning(["rate", "stall", "lag"][k % 3])).collect();
        run.validity.notes = vec!["a note of some length that might not fit any more [note]".into(); 9];
        let block = validity(&run);
        assert!(block[0].starts_with("Validity: suspect, "));
        let shown = block.iter().filter(|line| line.starts_with("  suspect: ")).count();
        assert_eq!(shown, warnings, "{block:#?}");
        assert!(block.iter().any(|line| line.contains("generator lag p99")), "{block:#?}");
        assert!(block.iter().any(|line| line.contains("`knee explain rate`")), "{block:#?}");
        assert!(!block.iter().any(|line| line.contains('…')), "nothing is cut off: {block:#?}");
    }
    let answer = "suspect: overloaded: the server takes 5,018 of 20,000 requests/s on 50";
    assert!(report(&run).lines().take(5).any(|line| line == answer), "{}", report(&run));
    assert_eq!(text::reason_line(&View::of(&run)).unwrap(), format!("{answer} connections [rate]"));
    assert_eq!(text::reason_line(&View::of(&fixture::healthy_open())), None);
}

#[test]
fn every_state_is_a_word() {
    let mut run = fixture::healthy_open();
    for (state, word) in
        [(Validity::Valid, "valid"), (Validity::Suspect, "suspect"), (Validity::Invalid, "invalid")]
    {
        run.validity.validity = state;
        assert!(validity(&run)[0].starts_with(&format!("Validity: {word}, ")));
    }
}

#[test]
fn what_a_server_says_cannot_act_on_the_terminal() {
    let report = report(&fixture::hostile());
    assert!(!report.chars().any(|c| c != '\n' && is_hostile(c)));
    assert!(report.contains("\\x1b]0;owned\\x07"));
}

#[test]
fn colour_adds_nothing_but_colour() {
    for (name, run) in fixture::all() {
        let view = View::of(&run);
        let plain = text::render(&view, &Style::default());
        let colour = text::render(&view, &Style { palette: Palette::Ansi, ..Style::default() });
        let mut stripped = String::new();
        for (position, piece) in colour.split("\x1b[").enumerate() {
            stripped.push_str(if position == 0 { piece } else { piece.split_once('m').unwrap().1 });
        }
        let trimmed: Vec<_> = stripped.lines().map(str::trim_end).collect();
        assert_eq!(trimmed, plain.lines().collect::<Vec<_>>(), "{name}");
        assert_ne!(colour, plain, "{name}");
    }
}

#[test]
fn a_unit_that_was_asked_for_is_used_throughout() {
    let style = Style { unit: Some(Unit::Us), ..Style::default() };
    let report = text::render(&View::of(&fixture::healthy_open()), &style);
    assert!(report.contains("Times in us,") && report.contains("up to, in us"), "{report}");
    assert!(report.contains("generator lag p99 12.4 us, max 412 us"), "{report}");
}

#[test]
fn a_phase_that_took_no_time_has_no_row_and_one_that_took_some_never_reads_zero() {
    let mut view = View::of(&fixture::healthy_open());
    let render = |view: &View| text::render(view, &Style::default());
    let receive = Phase::Receive as usize;
    view.total.phases[receive].mean = Reading::Exactly(Nanos(40));
    assert!(render(&view).contains("\n  receive   < 0.001"), "{}", render(&view));
    view.total.phases[receive].max = Reading::Exactly(Nanos::ZERO);
    assert!(!render(&view).contains("receive "));
}

#[test]
fn what_was_observed_stands_beside_the_run_with_what_could_not_be_read() {
    let run = fixture::observed();
    let report = report(&run);
    let section = report.split("\n\n").find(|block| block.starts_with("Beside the run")).unwrap();
    assert!(!report.chars().any(|c| is_hostile(c) && c != '\n'), "{report:?}");
    let requests = fixture::small_closed().measured.accounting().planned;
    let lines: Vec<&str> = section.lines().map(str::trim_end).collect();
    let position = |part: &str| {
        lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{part} in\n{section}"))
    };
    assert_eq!(position("postgres://127.0.0.1:5432/shop, PostgreSQL 15.5"), 1);
    for (name, value) in [
        ("active backends, mean", "4"),
        ("waits for Lock:transactionid", "75.0 %"),
        ("active without a wait", "25.0 %"),
        ("blocks found in memory", "90.0 %"),
        ("shop::render", "34.0 %"),
        ("shop::parse", "5.0 %"),
        ("in the kernel, all together", "15.0 %"),
        ("samples of CPU time", " 100"),
    ] {
        assert!(lines[position(name)].ends_with(value), "{section}");
    }
    let calls = number::level(400.0 / requests as f64);
    assert!(
        lines[position("SELECT * FROM items")].ends_with(&format!("{calls} calls per request")),
        "{section}"
    );
    assert!(!section.contains("shop::sixth"), "five functions are shown");
    assert!(lines[position("system calls, read or write, per request")].ends_with(&calls), "{section}");
    position("without pg_stat_io: permission denied");
    position("lost at 40.0 ms: connection\\x1b[2J closed");
    position("not read: there is no such process");
    let beside_k6 = text::beside_k6(&View::of(&run), &Style::default());
    assert!(beside_k6.contains("Beside the run"));
    assert!(!text::render(&View::of(&fixture::small_closed()), &Style::default()).contains("Beside the run"));
}

#[test]
fn a_database_that_is_read_as_a_superuser_has_one_quiet_line() {
    let mut run = fixture::observed();
    let note = "    as a superuser: pg_monitor would do";
    assert!(!report(&run).contains(note));
    let (name, label, text) = ("role".to_owned(), String::new(), "superuser".to_owned());
    run.observations.texts.push(Text { source: 0, name, label, text });
    let report = report(&run);
    assert_eq!(report.matches(note).count(), 1, "{report}");
}

#[test]
fn other_programs_that_use_the_cpus_of_the_machine_stand_beside_the_run() {
    let mut run = fixture::observed();
    let source = run.observations.sources.iter().position(|source| source.name == "host").unwrap();
    let seconds = run.ended.as_secs_f64();
    for (program, cpus) in [("rustc", 1.5), ("sshd", 0.05)] {
        run.observations.series.push(Series {
            source,
            name: "host.program.cpu".to_owned(),
            label: program.to_owned(),
            unit: FigureUnit::Seconds,
            kind: SeriesKind::Counter,
            points: vec![(Nanos::ZERO, 0.0), (run.ended, cpus * seconds)],
        });
    }
    let report = report(&run);
    let line = report.lines().find(|line| line.contains("CPUs used by rustc")).unwrap();
    assert!(line.trim_end().ends_with("1.50"), "{line}");
    assert!(!report.contains("sshd"), "{report}");
}
