//! CPUs that are full: those of a process of the service, or of the whole machine.
//!
//! Needs figures of the machine or of a process. One full thread is `one_thread`; that another program takes the CPUs
//! is `busy_neighbour`.

use knee_core::observation::SourceKind;

use crate::bound;
use crate::definition::{Checked, Draft, Rule};
use crate::evidence::Evidence;
use crate::figure::{number, percent};
use crate::finding::{Gain, Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::neighbours;
use crate::profile::{Hottest, add_hottest};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "cpu_full",
    finds: "CPUs that the service fills",
    needs: "figures of the machine (`host`) or of a process (`pid`)",
    limits: "a process uses 90 % of the CPUs that it can use; or those that it is bound to are 90 % busy with it and other programs, or all CPUs of the machine are (time that a hypervisor gives to other machines counts neither as busy nor as idle); threads wait for a CPU 20 % of the time (PSI), or 20 % as long as they run; 5 % of the periods of a CPU limit are throttled. Those that it is bound to are left out if it uses less than 10 % of them, or where a finding names a statement or a process that takes half of the response time. With a profile of the process (`profile`), the function with most of its CPU time is named; so are other programs of the machine that use a tenth of a CPU (`host`), where as much of the CPUs that the process is bound to is not used by itself; never knee",
    source: "Within 15 % of the operational bound a resource counts as the limit; 90 % leaves room for what sampling misses.",
    cause: "The work of the requests takes all CPU time: of the service, of its database on the same machine, or of the load generator beside them.",
    remedy: "Make a request cheaper (profile the busiest process), or give it more CPUs. Load from another machine if the generator is here.",
    explains: &["cpu_per_request"],
    check,
};

const FULL: f64 = 0.9;
const PRESSURE: f64 = 0.2;
const WAITING: f64 = 0.2;
const THROTTLED: f64 = 0.05;
/// Share of the CPUs to which it is bound that a process uses itself, below which others fill them without it.
const PART: f64 = 0.1;
/// Share of the CPU time that other machines take, from which on it is said.
const TAKEN: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.sources(SourceKind::Process);
    let hosts = evidence.sources(SourceKind::Host);
    if processes.is_empty() && hosts.is_empty() {
        return Err(Lack::of(
            "figures of the machine or of a process (`--observe host`, `--observe pid:PID`)",
        ));
    }
    let pressure = hosts.first().and_then(|host| host.per_second("host.pressure.cpu.some", ""));
    let pressure = Signal::at_least(
        "share of the time in which a thread waits for a CPU",
        Unit::Share,
        pressure,
        PRESSURE,
        "/proc/pressure/cpu",
    );
    let full: Vec<Draft> =
        processes.iter().filter_map(|process| of_process(evidence, process, pressure.clone())).collect();
    if !full.is_empty() {
        return Ok(full);
    }
    let shared = processes.iter().filter_map(|process| of_bound(evidence, process, pressure.clone()));
    if let Some(most) = shared.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        return Ok(vec![most.1]);
    }
    Ok(hosts.iter().filter_map(|host| of_host(evidence, host, &processes, pressure.clone())).collect())
}

fn of_process(evidence: &Evidence<'_>, process: &Watched<'_>, pressure: Option<Signal>) -> Option<Draft> {
    let allowed = bound::allowed_cpus(evidence, process)?;
    let used = bound::both(process, "process.cpu.user", "process.cpu.system")?;
    let share = used.per_second()? / allowed;
    let full = Signal::at_least(
        "CPU time, of the CPUs that the process can use",
        Unit::Share,
        Some(share),
        FULL,
        "/proc/PID/stat",
    )?;
    let waiting = process.rise("process.run_delay", "").map(|wait| wait.amount / used.amount);
    let periods = process.rise("process.cgroup.cpu.periods", "");
    let throttled = process.rise("process.cgroup.cpu.throttled", "").zip(periods);
    let throttled = throttled.map(|(throttled, periods)| throttled.amount / periods.amount);
    let signals = [
        Some(full),
        pressure,
        Signal::at_least("wait for a CPU per CPU time", Unit::Share, waiting, WAITING, "/proc/PID/schedstat"),
        Signal::at_least(
            "share of periods in which the CPU limit stopped it",
            Unit::Share,
            throttled,
            THROTTLED,
            "cpu.stat",
        ),
    ];
    let mut draft = Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "{} uses {} of the {} {} that it can use",
            process.source.name,
            percent(share),
            number(allowed),
            if number(allowed) == "1" { "CPU" } else { "CPUs" }
        ),
        signals: signals.into_iter().flatten().collect(),
        remedy: Remedy::advice("make a request cheaper: profile the process; or give it more CPUs"),
        gain: doubled(evidence),
    };
    add_hottest(evidence, process, &mut draft);
    Some(draft)
}

/// The CPUs that a process is bound to, if they are full of it and others: a service and its database on the same CPUs.
/// With the share of the process.
fn of_bound(
    evidence: &Evidence<'_>,
    process: &Watched<'_>,
    pressure: Option<Signal>,
) -> Option<(f64, Draft)> {
    let (cpus, busy) = bound::bound_cpus(evidence, process)?;
    let full = Signal::at_least(
        "share of the CPUs that the process is bound to that is busy with anything",
        Unit::Share,
        busy.per_second().map(|busy| busy / cpus),
        FULL,
        "/proc/stat",
    )?;
    let used = bound::both(process, "process.cpu.user", "process.cpu.system")?;
    let share = used.per_second().map(|used| used / cpus).filter(|share| *share >= PART)?;
    let waiting = process.rise("process.run_delay", "").map(|wait| wait.amount / used.amount);
    let waiting =
        Signal::at_least("wait for a CPU per CPU time", Unit::Share, waiting, WAITING, "/proc/PID/schedstat");
    let (its_cpus, verb) = if number(cpus) == "1" { ("CPU", "is") } else { ("CPUs", "are") };
    let mut draft = Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "the {} {its_cpus} to which {} is bound {verb} {} busy: {} with it, the rest with other programs and interrupts{}",
            number(cpus),
            process.source.name,
            percent(full.figure),
            percent(share),
            others(evidence, Some(process))
        ),
        signals: [Some(full), pressure, waiting].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "make a request cheaper, in the process or in what shares its CPUs, such as its database; or give them more CPUs, and the load generator its own",
        ),
        // With more CPUs, it is unknown which of the programs is the next limit.
        gain: None,
    };
    add_hottest(evidence, process, &mut draft);
    Some((share, draft))
}

fn of_host(
    evidence: &Evidence<'_>,
    host: &Watched<'_>,
    processes: &[Watched<'_>],
    pressure: Option<Signal>,
) -> Option<Draft> {
    let busy = evidence.host_busy();
    let full = Signal::at_least("share of all CPUs that is busy", Unit::Share, busy, FULL, "/proc/stat")?;
    let cpus = host.most("host.cpus", "")?;
    let used = processes.iter().filter_map(|process| Some((process, used_cpus(process)?)));
    let most = used.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let most = most.map_or(String::new(), |(process, used)| {
        let hottest = Hottest::of(evidence, process).map_or(String::new(), |hottest| hottest.clause());
        format!("; {} uses {} of them{hottest}", process.source.name, percent(used / cpus))
    });
    Some(Draft {
        subject: Subject::of(
            SubjectKind::Resource,
            format!("CPUs of {}", host.source.name),
            Some(&host.source.name),
        ),
        statement: format!(
            "all {} CPUs are {} busy{most}{}{}",
            number(cpus),
            percent(busy?),
            others(evidence, None),
            taken(evidence)
        ),
        signals: [Some(full), pressure].into_iter().flatten().collect(),
        remedy: Remedy::advice(
            "make a request cheaper: profile the busiest process; or load from another machine",
        ),
        gain: doubled(evidence),
    })
}

/// CPUs that a process uses.
fn used_cpus(process: &Watched<'_>) -> Option<f64> {
    bound::both(process, "process.cpu.user", "process.cpu.system")?.per_second()
}

/// What to say of other programs that use the CPUs of a process, or of the machine.
fn others(evidence: &Evidence<'_>, process: Option<&Watched<'_>>) -> String {
    let hosts = evidence.sources(SourceKind::Host);
    let named = hosts.first().map_or_else(Vec::new, |host| neighbours::of(evidence, host, process));
    if named.is_empty() { String::new() } else { format!("; {}", neighbours::clause(&named)) }
}

/// What to say of the CPU time that a hypervisor gives to other machines.
fn taken(evidence: &Evidence<'_>) -> String {
    let taken = evidence.stolen();
    if taken >= TAKEN {
        format!("; a neighbour takes {} of their time (steal), which does not count", percent(taken))
    } else {
        String::new()
    }
}

/// Twice the resource: at best twice the throughput.
pub(super) fn doubled(evidence: &Evidence<'_>) -> Option<Gain> {
    let now = evidence.throughput();
    Gain::reaches(now, now.map(|now| 2.0 * now), "twice this resource, if the next one allows it")
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use crate::testing::{Costs, Scene};

    fn busy(cpus: f64, pressure: f64) -> Scene {
        let mut scene = Scene::steady();
        let host = scene.host(4.0);
        scene.busy_host(host, (cpus / 4.0 + 0.02_f64).min(1.0));
        scene.counter(host, "host.pressure.cpu.some", "", pressure);
        let process = scene.process("shop (pid 7)");
        scene.counter(process, "process.cpu.user", "", cpus * 0.8);
        scene.counter(process, "process.cpu.system", "", cpus * 0.2);
        scene
    }

    #[test]
    fn a_process_that_fills_four_cpus_is_found_and_named() {
        let finding = busy(3.8, 0.6).found("cpu_full").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.statement, "shop (pid 7) uses 95 % of the 4 CPUs that it can use");
        assert!((finding.gain.unwrap().share() - 0.5).abs() < 0.01);
    }

    #[test]
    fn a_limit_of_the_cgroup_is_what_the_process_can_use() {
        let mut scene = busy(0.95, 0.05);
        scene.gauge(1, "process.cgroup.cpu.limit", "", 1.0);
        scene.counter(1, "process.cgroup.cpu.periods", "", 10.0);
        scene.counter(1, "process.cgroup.cpu.throttled", "", 4.0);
        assert_eq!(scene.found("cpu_full").unwrap().confidence, Confidence::Likely);
    }

    #[test]
    fn a_process_that_is_bound_to_one_cpu_can_fill_only_that_one() {
        let mut scene = busy(0.95, 0.3);
        scene.gauge(1, "process.cpus", "", 1.0);
        let finding = scene.found("cpu_full").unwrap();
        assert_eq!(finding.statement, "shop (pid 7) uses 95 % of the 1 CPU that it can use");
    }

    #[test]
    fn a_machine_that_others_fill_is_found_as_a_machine() {
        let mut scene = busy(1.0, 0.6);
        scene.busy_host(0, 0.97);
        let finding = scene.found("cpu_full").unwrap();
        assert_eq!(finding.statement, "all 4 CPUs are 97 % busy; shop (pid 7) uses 25 % of them");
    }

    #[test]
    fn other_programs_that_fill_the_machine_are_named_and_small_ones_are_not() {
        let mut scene = busy(1.0, 0.6);
        scene.busy_host(0, 0.97);
        for (program, cpus) in [("backup", 0.14), ("rustc", 2.3), ("sshd", 0.06), ("postgres", 0.5)] {
            scene.counter(0, "host.program.cpu", program, cpus);
        }
        assert_eq!(
            scene.found("cpu_full").unwrap().statement,
            "all 4 CPUs are 97 % busy; shop (pid 7) uses 25 % of them; rustc uses 230 % of a CPU, backup 14 %"
        );
        let mut scene = shared(0.98);
        scene.counter(0, "host.program.cpu", "rustc", 0.4);
        let statement = scene.found("cpu_full").unwrap().statement;
        assert!(
            statement.ends_with("other programs and interrupts; rustc uses 40 % of a CPU"),
            "{statement}"
        );
    }

    #[test]
    fn a_program_that_must_run_on_other_cpus_and_the_load_generator_are_not_blamed() {
        let mut scene = shared(0.94);
        scene.counter(1, "process.cpu.user", "", 0.7);
        scene.counter(1, "process.cpu.system", "", 0.17);
        scene.counter(0, "host.program.cpu", "rustc", 2.3);
        let statement = scene.found("cpu_full").unwrap().statement;
        assert!(statement.ends_with("the rest with other programs and interrupts"), "{statement}");
        let mut scene = busy(1.0, 0.6);
        scene.busy_host(0, 0.97);
        scene.counter(0, "host.program.cpu", "knee", 1.9);
        let statement = scene.found("cpu_full").unwrap().statement;
        assert_eq!(statement, "all 4 CPUs are 97 % busy; shop (pid 7) uses 25 % of them");
    }

    #[test]
    fn time_that_a_neighbour_takes_is_neither_busy_nor_idle_and_is_said() {
        let of = |user: f64, idle: f64| {
            let mut scene = Scene::steady();
            let host = scene.host(4.0);
            for (mode, cpus) in [("user", user), ("system", 0.0), ("idle", idle), ("steal", 1.2)] {
                scene.counter(host, "host.cpu.time", mode, cpus);
            }
            scene.found("cpu_full").map(|finding| finding.statement)
        };
        let says =
            "all 4 CPUs are 100 % busy; a neighbour takes 30 % of their time (steal), which does not count";
        assert_eq!(of(2.8, 0.0).unwrap(), says);
        assert_eq!(of(1.4, 1.4), None, "half of what the machine gets is idle");
    }

    /// A service that is bound to one of four CPUs with its database, which together fill it this much.
    fn shared(busy_cpu: f64) -> Scene {
        let mut scene = busy(0.47, 0.3);
        scene.gauge(1, "process.cpus", "", 1.0);
        scene.text(1, "process.cpus.allowed", "", "1");
        for (cpu, busy) in [("0", 0.4), ("1", busy_cpu), ("2", 0.0), ("3", 0.0)] {
            scene.counter(0, "host.cpu.busy", cpu, busy);
        }
        scene
    }

    #[test]
    fn a_cpu_that_a_service_and_its_database_fill_together_is_found() {
        let finding = shared(0.98).found("cpu_full").unwrap();
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(
            finding.statement,
            "the 1 CPU to which shop (pid 7) is bound is 98 % busy: 47 % with it, the rest with other programs and interrupts"
        );
        assert_eq!(shared(0.7).found("cpu_full"), None);
    }

    #[test]
    fn full_cpus_are_left_out_where_a_finding_names_what_they_do_for_half_of_the_time() {
        let mut scene = shared(0.98);
        let server = scene.postgres();
        let text = "SELECT id, name FROM products WHERE shop = $1 ORDER BY name LIMIT 20";
        let costs = Costs { seconds: 0.004, rows: 20.0, blocks: 1_200.0, ..Costs::default() };
        scene.statement(server, "2", text, &costs);
        scene.table(server, "public.products", 50_000.0, [1_000.0, 5e7], [1_000.0, 1_000.0]);
        let codes: Vec<_> = scene.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["missing_index"]);
    }

    #[test]
    fn half_busy_cpus_are_healthy_although_some_thread_always_waits() {
        assert_eq!(busy(2.0, 0.4).found("cpu_full"), None);
    }
}
