//! `knee fleet`: who the agents are and what they do; ends their loads; takes over a run whose controller is gone; fetches
//! what they kept.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use knee_core::record::Build;
use knee_engine::control::Control;
use knee_fleet::controller::Wanted;
use knee_fleet::name::RunId;
use knee_fleet::nats::controller::{Fleet, Saved};
use knee_fleet::wire::{Info, Reply, StopLevel};
use knee_report::number::counted;

use super::failed::{Failed, failed, refused};
use super::load::exit_of;
use super::render;
use super::run::takeover::{TakenOver, Taking, not_taken, stays, take_over as script};
use crate::args::{FleetAction, FleetArgs, Format};
use crate::exit::Exit;
use crate::fleet::job::Work;
use crate::fleet::run::{About, Done, Follows, Place, problem_of, resume};
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::Surroundings;
use crate::settings::fleet::{FleetChoice, link, signer, signer_or_new};
use crate::settings::output::Sink;
use crate::signals;

mod fetch;

/// Runs the command.
///
/// # Errors
///
/// If NATS cannot be reached, the key cannot be read, or an agent refuses.
pub fn fleet(args: &FleetArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    match args.action {
        FleetAction::Key => key(args, narrate),
        FleetAction::Ls => with_fleet(args, async |fleet| list(&fleet).await),
        FleetAction::Stop => with_fleet(args, async |fleet| stop(args, &fleet, narrate).await),
        FleetAction::Resume => take_over(args, narrate),
        FleetAction::Fetch => with_fleet(args, async |fleet| fetched(args, &fleet, narrate).await),
    }
}

fn print(text: &str) -> Result<(), Failed> {
    Sink::Stdout.write(text.as_bytes()).map_err(failed)
}

fn key(args: &FleetArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let (signer, path) = signer_or_new(&args.keys).map_err(refused)?;
    narrate(&format!("key: {} (keep it secret)", on_one_line(&path.display().to_string())));
    print(&format!("{}\n", signer.public()))?;
    Ok(Exit::Ok)
}

fn nats(args: &FleetArgs) -> Result<&str, Failed> {
    args.nats.as_deref().ok_or_else(|| {
        refused(Problem::new("`--nats` is missing", "name the server, as in `--nats nats://10.0.0.5:4222`"))
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| failed(Problem::new(reason(&error), "")))
}

fn with_fleet(
    args: &FleetArgs,
    work: impl AsyncFnOnce(Fleet) -> Result<Exit, Failed>,
) -> Result<Exit, Failed> {
    let (nats, signer) = (nats(args)?, signer_for(args)?);
    runtime()?.block_on(async {
        let fleet = Fleet::connect(&link(nats, &args.keys), Arc::new(signer)).await;
        work(fleet.map_err(|error| problem_of(error.into()))?).await
    })
}

/// The key; a list needs none, so a new one does.
fn signer_for(args: &FleetArgs) -> Result<knee_fleet::signature::Signer, Failed> {
    match args.action {
        FleetAction::Ls => Ok(signer(&args.keys).unwrap_or_else(|_| knee_fleet::signature::Signer::random())),
        _ => signer(&args.keys).map_err(refused),
    }
}

async fn look(fleet: &Fleet, span: Duration) -> Result<Vec<Info>, Failed> {
    let mut found = fleet.look(span).await.map_err(|error| problem_of(error.into()))?;
    found.sort_by(|one, other| one.agent.cmp(&other.agent));
    Ok(found)
}

async fn list(fleet: &Fleet) -> Result<Exit, Failed> {
    let found = look(fleet, Duration::from_millis(500)).await?;
    let runs = fleet.runs().await.map_err(|error| problem_of(error.into()))?;
    print(&listed(&found, &runs))?;
    Ok(Exit::Ok)
}

/// The list as text.
fn listed(found: &[Info], runs: &[Saved]) -> String {
    let mut text = String::new();
    if found.is_empty() {
        text.push_str("no agent answers\n");
    }
    let width = found.iter().map(|info| info.agent.as_str().len()).max().unwrap_or_default().max(5);
    if !found.is_empty() {
        let _ = writeln!(text, "{:width$}  {:10}  {:8}  {:>4}  state", "agent", "fleet", "build", "CPUs");
    }
    for info in found {
        let state = info.run.as_ref().map_or_else(|| "free".to_owned(), |run| format!("works for {run}"));
        let Build { version, .. } = &info.build;
        let (agent, fleet) = (info.agent.as_str(), info.fleet.as_deref().unwrap_or("–"));
        let (fleet, version) = (on_one_line(fleet), on_one_line(version));
        let _ = writeln!(text, "{agent:width$}  {fleet:10}  {version:8}  {:>4}  {state}", info.machine.cores);
    }
    for saved in runs.iter().filter(|saved| saved.begun) {
        let title = serde_json::from_value::<About>(saved.about.clone()).map(|about| about.title);
        let title = on_one_line(&title.unwrap_or_default());
        let ended = if saved.ended { ", ended; what arrived can be merged again" } else { "" };
        let _ = writeln!(
            text,
            "run {}: {title}, {}{ended}",
            saved.run,
            counted(saved.engaged.len() as u64, "agent")
        );
    }
    text
}

async fn fetched(args: &FleetArgs, fleet: &Fleet, narrate: fn(&str)) -> Result<Exit, Failed> {
    let found = look(fleet, Duration::from_secs(2)).await?;
    fetch::fetch(args, (fleet, &found), narrate).await
}

async fn stop(args: &FleetArgs, fleet: &Fleet, narrate: fn(&str)) -> Result<Exit, Failed> {
    if args.all == args.name.is_some() {
        return Err(refused(Problem::new(
            "`knee fleet stop` needs an agent, or `--all`",
            "`knee fleet ls` lists the agents",
        )));
    }
    // Slow ones as well: this is for emergencies.
    let found = look(fleet, Duration::from_secs(2)).await?;
    let wanted = |info: &Info| args.all || args.name.as_deref() == Some(info.agent.as_str());
    if !found.iter().any(wanted) {
        let who = args
            .name
            .as_ref()
            .map_or_else(|| "no agent".to_owned(), |name| format!("`{}`", on_one_line(name)));
        let what = format!("{who} answers within 2 s: whether load is sent is not known");
        return Err(failed(Problem::new(what, "check the agents and their way to NATS")));
    }
    let busy: Vec<&Info> =
        found.iter().filter(|info| wanted(info)).filter(|info| info.run.is_some()).collect();
    if busy.is_empty() {
        narrate("no agent sends load");
        return Ok(Exit::Ok);
    }
    let mut failures = 0;
    let replies = join_all(busy.iter().map(|info| fleet.stop(info, StopLevel::Abort))).await;
    for (info, reply) in busy.into_iter().zip(replies) {
        let words = match reply {
            Some(Reply::Accepted) => "stopped".to_owned(),
            Some(Reply::Refused { why }) => why.to_string(),
            Some(Reply::Record { .. }) | None => "no answer".to_owned(),
        };
        failures += usize::from(words != "stopped");
        narrate(&format!("{}: {}", info.agent, on_one_line(&words)));
    }
    Ok(if failures == 0 { Exit::Ok } else { Exit::Failure })
}

fn take_over(args: &FleetArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let name = args.name.as_deref().ok_or_else(|| {
        refused(Problem::new("`knee fleet resume` needs a run", "`knee fleet ls` lists the runs"))
    })?;
    let run: RunId = name.parse().map_err(|error: knee_fleet::name::NameError| {
        refused(Problem::new(error.to_string(), "`knee fleet ls` lists the runs"))
    })?;
    let link = link(nats(args)?, &args.keys);
    let choice = FleetChoice {
        link: link.clone(),
        wanted: Wanted::Fleet(String::new()),
        signer: Arc::new(signer_for(args)?),
        mixed: true,
    };
    let (saved, job, conducted) = runtime()?.block_on(async {
        let fleet = Fleet::connect(&link, choice.signer.clone()).await;
        let fleet = fleet.map_err(|error| problem_of(error.into()))?;
        let saved = fleet.saved(&run).await.map_err(problem_of)?;
        let (job, conducted) = tokio::join!(fleet.kept_job(&saved), fleet.is_conducted(&saved));
        Ok::<_, Failed>((saved, job, conducted))
    })?;
    let about: About = serde_json::from_value(saved.about.clone()).map_err(|error| {
        refused(Problem::new(
            format!("the run `{run}` cannot be read: {error}"),
            "use the build of knee that began it",
        ))
    })?;
    let job =
        job.and_then(|job| job.map(|bytes| Work::read(&bytes)).transpose().map_err(|problem| problem.what));
    let follows = match job {
        Ok(Some(Work::Script(job))) => {
            let taking = Taking { saved, about: &about, conducted };
            return match script(&job, &choice, taking, narrate) {
                Ok(TakenOver::Ended(exit)) => Ok(exit),
                Ok(TakenOver::Merged(done)) => merged(*done, narrate),
                Err(failed) => Err(failed),
            };
        }
        Ok(_) => Follows::Merge,
        Err(why) if conducted => return Err(stays(&run, refused(Problem::new(why, "")))),
        Err(why) => {
            not_taken(&why, narrate);
            Follows::Left
        }
    };
    let control = Control::new();
    let _signals =
        signals::watch(control.clone()).map_err(|error| failed(Problem::new(error.to_string(), "")))?;
    let place = Place::of_another(&about, narrate)?;
    merged(resume(&choice, saved, follows, place, &control, narrate)?, narrate)
}

/// Shows the record of a run of which nothing else is done here.
fn merged(Done { run, path, .. }: Done, narrate: fn(&str)) -> Result<Exit, Failed> {
    let surroundings = Surroundings::read();
    let color = surroundings.stdout_terminal && !surroundings.no_color;
    print(&render(&run, Format::Text, color, None))?;
    if let Some(path) = path {
        narrate(&format!("record: {}", on_one_line(&path.display().to_string())));
    }
    Ok(exit_of(&run.ending, run.validity.validity))
}

#[cfg(test)]
mod tests {
    use knee_core::record::Machine;
    use knee_fleet::name::Incarnation;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_agents_and_controllers_say_of_themselves_cannot_steer_the_terminal() {
        let bite = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{202e}";
        let found = Info {
            wire: 1,
            agent: "a".parse().unwrap(),
            incarnation: Incarnation::random(),
            fleet: Some(bite.to_owned()),
            build: Build { version: bite.to_owned(), ..Build::default() },
            machine: Machine::default(),
            challenge: bite.to_owned(),
            run: None,
        };
        let about = json!({ "title": bite, "started": 1, "name": bite });
        let saved =
            json!({ "run": "r", "engaged": [], "lead": 0, "begun": true, "lasts": null, "about": about });
        let text = listed(&[found], &[serde_json::from_value(saved).unwrap()]);
        assert_eq!(text.lines().count(), 3, "{text:?}");
        assert_eq!(text.matches("owned").count(), 3, "{text}");
        let acting = |c: char| c != '\n' && knee_report::clean::is_hostile(c);
        assert!(!text.chars().any(acting), "{text:?}");
    }
}
