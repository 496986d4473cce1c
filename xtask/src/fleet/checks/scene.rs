//! The whole scene in one go: an agent is killed, NATS restarts, the controller is killed and another one takes over on
//! another machine; the report says what was lost, and the target agrees.
//!
//! One trial with fixed moments; the checks of faults have random ones.

use anyhow::{Context, Result, ensure};

use super::{Setting, report};
use crate::fleet::lan::Lan;
use crate::fleet::trial::pause;
use crate::fleet::world::{Place, World, parts, seen_and_lost};

const AGENTS: usize = 4;
const RATE: u64 = 400;
const SECONDS: u64 = 60;
/// Which agent dies.
const VICTIM: usize = 2;

/// The row of the scene.
pub(super) fn rows(setting: &Setting) -> Vec<bool> {
    let what = "four agents, 400/s for 60 s: one killed, NATS killed for 2 s, the controller killed, resumed elsewhere";
    let goal = "planned = seen + lost, the dead agent alone lost something, its last 2 s at most are in no record, and \
                the target agrees";
    vec![report("scene", what, goal, scene(setting))]
}

fn scene(setting: &Setting) -> Result<(String, bool)> {
    let lan = Lan::new(&["a1", "a2", "a3", "a4", "c1", "c2"])?;
    let mut world = World::start(setting.knee, Place::Lan(lan), AGENTS)?;
    let line = format!("{} -q {RATE} -z {SECONDS}s --agents {AGENTS}", world.target_url());
    let mut load = world.load("home", &line)?;
    world.wait_for_count(&mut load, 10 * RATE)?;
    world.kill_agent(VICTIM);
    world.wait_for_count(&mut load, 17 * RATE)?;
    world.kill_server();
    pause(2.0);
    world.start_server()?;
    world.wait_for_count(&mut load, 25 * RATE)?;
    drop(load);
    let run = world.run_id()?;
    pause(3.0);
    let finished = world.finish(world.resume(&run, "other", "c2")?)?;
    let report = world.report("other").with_context(|| finished.log.clone())?;
    world.check_merge("other", &world.records("other", "fleet")?)?;

    let planned = RATE * SECONDS;
    let (seen, lost) = seen_and_lost(&report)?;
    let mut others_agree = true;
    let mut of_victim = (0, 0, 0);
    for (index, part) in parts(&report)?.iter().enumerate() {
        let number = index + 1;
        let counted = world.target.count_from(world.lan()?.seen_as(&format!("a{number}")).into());
        let figure =
            |name: &str| part[name].as_u64().with_context(|| format!("load-{number} has no `{name}`"));
        if number == VICTIM {
            of_victim = (counted, figure("planned")?, figure("lost")?);
        } else {
            others_agree &= figure("planned")? == counted && figure("lost")? == 0;
        }
    }
    let (counted, of_record, of_lost) = of_victim;
    // What the dead one sent since its last interval arrived is in no record; what it had not sent can be open in it.
    let unrecorded = counted.cast_signed() - of_record.cast_signed();
    let second = (RATE / AGENTS as u64).cast_signed();
    let held = seen + lost == planned && of_lost == lost && lost > 0 && others_agree;
    ensure!(finished.log.contains(&format!("load-{VICTIM} is lost")), "not named: {}", finished.log);
    let agree = if others_agree { "the other three agree" } else { "the others differ" };
    let measured = format!(
        "{planned} planned = {seen} seen + {lost} lost; target {}, {agree}; the dead agent sent {counted}, its record \
         has {of_record}: its last {:.2} s are missing",
        world.target.count(),
        unrecorded as f64 / second as f64
    );
    Ok((measured, held && (-2..=2 * second).contains(&unrecorded)))
}
