//! `knee doctor`: looks at this machine, measures its noise for 2 s, and says whether it is fit to measure.
//!
//! Gathers facts and prints; `knee_core::fitness` judges, `knee_engine::host` measures, and `knee_fixture` tries
//! cgroups. Sends no load, and leaves nothing behind.

use std::fs;

use knee_core::fitness::{Facts, NoiseFloor, judge};
use knee_core::unit::Nanos;
use knee_driver::calibration::Known;
use knee_engine::host::{Sampler, cpu_quota, machine, noise, raise_descriptor_limit};
use knee_fixture::{cpu_split, try_cpu_limit, try_cpu_weight};
use knee_report::json;
use knee_report::study::comparison::noise_floor;

use super::build;
use super::noise as saved_noise;
use crate::args::{DoctorArgs, DoctorFormat};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::settings::output::Sink;

mod namespace;
mod program;
mod text;

/// Duration of each of the two measurements.
const SPAN: Nanos = Nanos::from_secs(1);

/// Runs the command.
///
/// # Errors
///
/// If stdout cannot be written.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Problem> {
    let fitness = judge(&facts());
    let format = if args.json { DoctorFormat::Json } else { args.format };
    let result = match format {
        DoctorFormat::Json => json::pretty(&fitness),
        DoctorFormat::Text => text::text(&fitness),
        DoctorFormat::Quiet => String::new(),
    };
    Sink::Stdout.write(result.as_bytes())?;
    Ok(if fitness.fit { Exit::Ok } else { Exit::Invalid })
}

/// Looks at everything.
fn facts() -> Facts {
    let read = |path: &str| fs::read_to_string(path).ok();
    // Other systems have neither cgroups nor namespaces.
    let linux = cfg!(target_os = "linux");
    let mut facts = Facts {
        optimized: build().optimized,
        files: raise_descriptor_limit(),
        quota: cpu_quota(),
        split: Some(cpu_split()),
        floor: floor(),
        cpu_limit: linux.then(try_cpu_limit),
        cpu_weight: linux.then(try_cpu_weight),
        network_namespace: linux.then(namespace::try_network),
        mount_namespace: linux.then(namespace::try_mount),
        programs: program::all(),
        ..Facts::read(&read)
    };
    measure(&mut facts);
    facts
}

/// What `knee calibrate` saved.
fn floor() -> NoiseFloor {
    match saved_noise::known() {
        Known::Never => NoiseFloor::Never,
        Known::Ignored(why) => NoiseFloor::Ignored(why),
        Known::Holds(saved) => {
            let (floor, day) = (noise_floor(&saved.calibration), saved_noise::day(saved.made));
            NoiseFloor::Saved(format!("{floor}; saved on {day} by `knee calibrate`"))
        }
    }
}

/// Measures wake-ups while the machine does what it does anyway, then pauses while all CPUs are busy.
fn measure(facts: &mut Facts) {
    let cores = machine().cores as usize;
    let mut cpus = facts.cpus.clone().unwrap_or_else(|| (0..cores).collect());
    // More threads than a quota allows would measure the quota.
    cpus.truncate(cores.max(1));
    let mut sampler = Sampler::start();
    facts.wakes = noise::wakes(&cpus, SPAN);
    let idle = sampler.sample(0);
    facts.pauses = noise::pauses(&cpus, SPAN);
    let full = sampler.sample(0);
    facts.busy = idle.host_busy;
    facts.ports = idle.ports;
    facts.throttled = full.throttled;
    facts.steal = full.steal;
}
