//! `knee fleet fetch`: the records that agents kept of a run that is over.
//!
//! For runs whose end did not arrive: an agent that was cut off has its record whole. Does not merge; `knee merge` does.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use knee_core::record::SegmentOf;
use knee_core::record::format::Reader;
use knee_core::share::{Segment, Sequence};
use knee_driver::private_file;
use knee_fleet::name::RunId;
use knee_fleet::nats::controller::Fleet;
use knee_fleet::wire::Info;
use knee_report::number::counted;

use crate::args::FleetArgs;
use crate::command::failed::{Failed, failed, refused};
use crate::exit::Exit;
use crate::fleet::run::copies_folder;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::output::Sink;

/// Copies the records of a run of all agents that have one.
///
/// # Errors
///
/// If no agent has one.
pub(super) async fn fetch(
    args: &FleetArgs,
    (fleet, found): (&Fleet, &[Info]),
    narrate: fn(&str),
) -> Result<Exit, Failed> {
    let name = args.name.as_deref().ok_or_else(|| {
        let hint = "it is in the folder of the copies, and in `runs` in the folder of each agent";
        refused(Problem::new("`knee fleet fetch` needs the name of a run", hint))
    })?;
    let run: RunId = name.parse().map_err(|error: knee_fleet::name::NameError| {
        refused(Problem::new(
            error.to_string(),
            "`knee fleet ls` and the folder of the copies have the names of runs",
        ))
    })?;
    let folder = copies_folder(&run, true)?;
    let mut kept = Vec::new();
    for info in found {
        match fetched(fleet, info, &run, &folder).await {
            Ok(path) => kept.push(path),
            Err(why) => narrate(&format!("{}: {}", info.agent, on_one_line(&why))),
        }
    }
    if let Ok(saved) = fleet.saved(&run).await {
        let engaged = saved.engaged.iter().map(|one| one.agent.as_str());
        for agent in engaged.filter(|agent| found.iter().all(|info| info.agent.as_str() != *agent)) {
            narrate(&format!("{agent}: does not answer, so its record is missing"));
        }
    }
    if kept.is_empty() {
        // It was made for them, and is empty.
        let _ = std::fs::remove_dir(&folder);
        let agents = if found.len() == 1 { "agent that answers" } else { "agents that answer" };
        let what = format!("none of {} {agents} gave a record of the run `{run}`", found.len());
        return Err(failed(Problem::new(what, "an agent keeps the records of its last 20 runs")));
    }
    let paths: String =
        kept.iter().fold(String::new(), |text, path| text + &on_one_line(&path.display().to_string()) + "\n");
    Sink::Stdout.write(paths.as_bytes()).map_err(failed)?;
    if let Some(line) = missing(&kept.iter().filter_map(|path| part_of(path)).collect::<Vec<_>>()) {
        narrate(&line);
    }
    let folder = on_one_line(&folder.display().to_string());
    narrate(&format!("merge them: knee merge {folder}/*.knee"));
    Ok(Exit::Ok)
}

/// The copy of an agent's record.
async fn fetched(fleet: &Fleet, info: &Info, run: &RunId, folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(format!("{}.knee", info.agent));
    let mut file: File = private_file::create_new(&path).map_err(|error| reason(&error))?;
    let done = match fleet.fetch(info, run, &mut file).await {
        Ok(0) => Err("its record is empty".to_owned()),
        Ok(_) => file.sync_all().map_err(|error| reason(&error)),
        Err(error) => Err(error.to_string()),
    };
    if done.is_err() {
        // A piece of a record is none.
        let _ = std::fs::remove_file(&path);
    }
    done.map(|()| path)
}

/// Which part of a load a record is of.
fn part_of(path: &Path) -> Option<SegmentOf> {
    Reader::new(BufReader::new(File::open(path).ok()?)).ok()?.head().segment.clone()
}

/// The parts of a load of which there is no record; `None` if there is one of each.
fn missing(parts: &[SegmentOf]) -> Option<String> {
    let sequence: Sequence = parts.first()?.sequence.parse().ok()?;
    let there: Vec<Segment> = parts.iter().filter_map(|part| part.segment.parse().ok()).collect();
    let all = sequence.segments();
    let missing: Vec<String> =
        all.iter().filter(|segment| !there.contains(segment)).map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| {
        let records = if missing.len() == 1 { "its record" } else { "their records" };
        format!(
            "{} of {} missing ({}): no agent that answers has {records}",
            missing.len(),
            counted(all.len() as u64, "part"),
            missing.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_a_record_are_named() {
        let part = |segment: &str| SegmentOf {
            segment: segment.to_owned(),
            sequence: "0,1/4,1/2,3/4,1".to_owned(),
            agent: None,
        };
        let [a, b, c, d] = ["0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"].map(part);
        let line = "1 of 4 parts missing (1/2:3/4): no agent that answers has its record";
        assert_eq!(missing(&[d.clone(), a.clone(), b.clone()]).as_deref(), Some(line));
        let line = "2 of 4 parts missing (0:1/4, 1/4:1/2): no agent that answers has their records";
        assert_eq!(missing(&[c.clone(), d.clone()]).as_deref(), Some(line));
        assert_eq!(missing(&[a, b, c, d]), None);
        assert_eq!(missing(&[]), None);
    }
}
