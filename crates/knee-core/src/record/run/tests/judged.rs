//! Figures of a run that its validity check judges.

use super::*;
use crate::generator::LoopLag;
use crate::outcome::Fault;

#[test]
fn a_slow_request_across_the_end_of_the_steady_part_does_not_break_littles_law() {
    // A thousand requests of 1 ms a second, and one of 200 ms in flight at the end of the last second: what it has
    // taken until then is in the area and not among the service times, of which one of 200 ms was seen before.
    let mut intervals: Vec<_> = (0..3).map(|k| second(k, 1_000, 1_000, 1)).collect();
    let tally = intervals[0].measured.endpoint_mut(EndpointId(0));
    count(tally, 1_001, 1, 200);
    intervals[0].concurrency.area += 200_000_000;
    intervals[2].concurrency.area += 150_000_000;
    intervals[2].concurrency.at_end = 1;
    for interval in &mut intervals {
        interval.concurrency.clipped = interval.concurrency.area;
    }
    let run = folded(head(1_000.0, 0, 3), &intervals).end(Ending::Completed);
    assert!(!codes(&run).contains(&"littles_law"), "{:?}", run.validity.diagnostics.load);
}

#[test]
fn load_that_piles_up_breaks_littles_law() {
    // 100 due and sent a second, 50 answered: in flight grows by 50 a second, each answered one
    // was open for half of the time since the start.
    let mut intervals = Vec::new();
    for number in 0..60u64 {
        let mut interval = second(number, 100, 50, number * 500 + 250);
        interval.concurrency.at_end = (number + 1) * 50;
        interval.concurrency.area = u128::from(number * 50 + 25) * 1_000_000_000;
        interval.concurrency.clipped = interval.concurrency.area;
        intervals.push(interval);
    }
    let run = folded(head(100.0, 0, 60), &intervals).finish(None);
    assert!(codes(&run).contains(&"littles_law"), "{:?}", run.validity.diagnostics);
    assert!((run.validity.diagnostics.load.little_residual.unwrap() - 0.5).abs() < 0.001);
    // 3,000 in flight at the end, 10 s old in the mean, of 90,000 request-seconds.
    assert!((run.validity.diagnostics.load.little_allowance - 1.0 / 3.0).abs() < 0.01);
}

#[test]
fn a_plan_with_stages_is_not_held_to_a_steady_state() {
    let mut head = head(1_000.0, 0, 10);
    let stage = crate::schedule::Stage { duration: SECOND, target: 5.0 };
    let rate = Curve { start: 1.0, stages: vec![stage] };
    head.plan.scenarios[0].executor = Executor::Open { rate, arrivals: Arrivals::Uniform, users_max: 9 };
    let intervals: Vec<_> = (0..10).map(|k| second(k, 1_000, 1_000, 20)).collect();
    let run = folded(head, &intervals).end(Ending::Completed);
    assert_eq!(run.validity.diagnostics.load.little_residual, None);
}

#[test]
fn short_intervals_at_the_ends_do_not_count_for_cpu_use() {
    let mut intervals: Vec<_> = (0..3).map(|k| second(k, 1_000, 1_000, 20)).collect();
    let mut last = second(3, 0, 0, 0);
    last.to = last.from + Nanos::from_millis(100);
    last.generator.workers[0].cpu = 1.0;
    intervals.push(last);
    let run = folded(head(1_000.0, 0, 4), &intervals).end(Ending::Interrupted);
    assert_eq!(run.validity.diagnostics.generator.worker_cpu_max, Some(0.2));
    assert_eq!(run.validity.diagnostics.generator.worker_cpu_saturated, Some(0.0));
}

#[test]
fn waiting_for_a_cpu_is_that_of_the_worst_worker_over_the_whole_run() {
    let mut intervals: Vec<_> = (0..4).map(|k| second(k, 10, 10, 20)).collect();
    for (interval, delay) in intervals.iter_mut().zip([0.0, 0.0, 0.0, 0.2]) {
        interval.generator.workers.push(WorkerSample { cpu: 0.1, run_delay: Some(delay) });
    }
    let run = folded(head(10.0, 0, 4), &intervals).end(Ending::Completed);
    assert!((run.validity.diagnostics.generator.run_delay.unwrap() - 0.05).abs() < 1e-9);
}

#[test]
fn an_interval_that_took_too_long_shows_that_knee_stood_still() {
    let mut intervals = [second(0, 10, 10, 5), second(1, 10, 10, 5)];
    intervals[1].to = Nanos::from_secs(4);
    let stopped = folded(head(10.0, 0, 10), &intervals).end(Ending::Interrupted);
    assert_eq!(stopped.validity.diagnostics.generator.stall, Nanos::from_secs(2));
    // The same at the end of the plan is the grace period.
    let grace = folded(head(10.0, 0, 2), &intervals).end(Ending::Completed);
    assert_eq!(grace.validity.diagnostics.generator.stall, Nanos::ZERO);
}

#[test]
fn the_wall_clock_is_judged_by_steps_not_by_drift() {
    let drifting = |step: i64| {
        let mut intervals: Vec<_> = (0..10).map(|k| second(k, 10, 10, 5)).collect();
        for (number, interval) in (0..).zip(&mut intervals) {
            interval.generator.wall_drift_ns = number * 20_000_000 + step * i64::from(number > 5);
        }
        folded(head(10.0, 0, 10), &intervals)
            .end(Ending::Completed)
            .validity
            .diagnostics
            .generator
            .wall_drift_ns
    };
    assert_eq!(drifting(0), 20_000_000);
    assert_eq!(drifting(-3_000_000_000), -2_980_000_000);
}

#[test]
fn faults_are_charged_to_the_generator_by_their_blame() {
    let mut interval = second(0, 10, 7, 5);
    let endpoint = interval.measured.endpoint_mut(EndpointId(0));
    endpoint.outcomes[Outcome::TransportError as usize].response.record_many(SECOND, 3);
    endpoint.note_fault(Fault::PortsExhausted, 2, None);
    endpoint.note_fault(Fault::Refused, 1, None);
    let run = folded(head(10.0, 0, 1), &[interval]).end(Ending::Completed);
    assert_eq!(run.validity.diagnostics.requests.generator_faults, 2);
    assert!(codes(&run).contains(&"generator_faults"));
}

#[test]
fn bodies_are_looked_at_by_endpoint() {
    let mut interval = second(0, 1, 1, 1);
    interval.measured.endpoint_mut(EndpointId(0)).bodies.seen = vec![(1, 10), (2, 10)];
    interval.measured.endpoint_mut(EndpointId(1)).bodies.seen = vec![(3, 0), (4, 20)];
    let requests = folded(head(10.0, 0, 1), &[interval]).end(Ending::Completed).validity.diagnostics.requests;
    assert_eq!(requests.bodies, (4, false));
    assert_eq!((requests.endpoints_of_many_lengths, requests.endpoints_of_empty_bodies), (1, 1));
}

#[test]
fn a_pause_inside_an_interval_of_a_closed_load_is_suspect() {
    let mut head = head(1.0, 0, 10);
    head.plan.scenarios[0].executor = Executor::Closed { vus: Curve::constant(20.0) };
    let mut intervals: Vec<_> = (0..10).map(|k| second(k, 1_000, 1_000, 20)).collect();
    for (number, interval) in (0..).zip(&mut intervals) {
        let mut lag = LoopLag::default();
        (0..200).for_each(|_| lag.note(Nanos::from_micros(30), 5, 0));
        if number == 4 {
            lag.note(Nanos::from_millis(300), 20, 5);
        }
        interval.generator.loop_lag = Some(lag);
    }
    let run = folded(head, &intervals).end(Ending::Completed);
    assert_eq!(codes(&run), ["stall"]);
    assert_eq!(run.validity.diagnostics.generator.paused, Nanos::from_millis(300));
}

#[test]
fn arrivals_that_wait_for_a_connection_count_as_not_sent() {
    // 1,000 come due each second, 250 are taken up and answered; the rest waits.
    let intervals: Vec<_> = (0..4)
        .map(|k| {
            let mut interval = second(k, 250, 250, 4);
            interval.backlog = (k + 1) * 750;
            interval
        })
        .collect();
    let run = folded(head(1_000.0, 0, 4), &intervals).end(Ending::Completed);
    let load = &run.validity.diagnostics.load;
    assert_eq!(
        (load.sent_share, load.due_per_s, load.taken_per_s),
        (Some(0.250_25), Some(1_000.0), Some(250.0))
    );
    let told = "overloaded: the server took 250 of 1,000 requests/s on 1,000 connections";
    assert_eq!(run.validity.warnings[0].message, told);
}

#[test]
fn an_arrival_is_scheduled_in_the_second_in_which_it_came_due_however_late_it_is_taken_up() {
    // 1,000 come due in each of two seconds, 250 are taken up; then the queue is taken up, or given up.
    let with = |k, planned, backlog| Interval { backlog, ..second(k, planned, planned, 4) };
    let intervals = [with(0, 250, 750), with(1, 250, 1_500), with(2, 900, 600), with(3, 600, 0)];
    let run = folded(head(1_000.0, 0, 2), &intervals).end(Ending::Completed);
    let scheduled: Vec<u64> = run.series.iter().map(|point| point.planned).collect();
    assert_eq!(scheduled, [1_000, 1_000, 0, 0]);
    assert_eq!(scheduled.iter().sum::<u64>(), run.measured.accounting().planned);
}

#[test]
fn a_run_that_was_stopped_has_its_rates_over_the_time_until_then() {
    let mut builder = folded(head(100.0, 0, 60), &[second(0, 100, 100, 5), second(1, 100, 100, 5)]);
    builder.stop(Nanos::from_millis(2_200));
    let mut last = second(2, 20, 20, 5);
    last.to = Nanos::from_secs(7);
    builder.add(&last);
    let run = builder.end(Ending::Interrupted);
    assert_eq!((run.window(), run.ended), (Nanos::from_millis(2_200), Nanos::from_secs(7)));
    assert_eq!(codes(&run), [""; 0]);
}

#[test]
fn many_workers_on_few_cpus_saturate_them_together() {
    let saturated = |cores: u32| {
        let mut head = head(10.0, 0, 4);
        head.machine.cores = cores;
        let mut intervals: Vec<_> = (0..4).map(|k| second(k, 10, 10, 20)).collect();
        for interval in &mut intervals {
            interval.generator.workers = vec![WorkerSample { cpu: 0.48, run_delay: Some(0.5) }; 2];
        }
        folded(head, &intervals).end(Ending::Completed).validity.diagnostics.generator.worker_cpu_saturated
    };
    assert_eq!((saturated(1), saturated(2)), (Some(1.0), Some(0.0)));
}
