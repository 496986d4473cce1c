//! Data of services: seeded once, kept, brought back; and revisions of the user's repository.

use std::path::Path;
use std::process::Command;

use knee_rig::Overrides;

use crate::world::{SERVICE, World, get};

/// A service whose seed writes one line, and counts in the study's folder how often it did.
fn seeded(reset: &str) -> String {
    let seed = r#"seed = ["sh", "-c", "echo seed >>texts.count; mkdir -p $0/deep; echo seed >>$0/texts; echo x >$0/deep/er", "{data}"]"#;
    format!("{SERVICE}{seed}\nreset = \"{reset}\"\n")
}

fn seeds(world: &World) -> usize {
    std::fs::read_to_string(world.study.path().join("texts.count")).unwrap().lines().count()
}

#[test]
fn a_copy_brings_data_back_to_how_the_seed_left_it() {
    let world = World::new();
    let (mut rig, url) = world.running(&seeded("copy"));
    get(&url, "/put?trial");
    assert_eq!(get(&url, "/get"), "seed\ntrial\n");
    std::fs::remove_dir_all(rig.folder().join("data-main/deep")).unwrap();
    for _ in 0..2 {
        rig.reset("main").unwrap();
        let url = rig.start("main", &Overrides::default()).unwrap().url;
        assert_eq!(get(&url, "/get"), "seed\n");
        assert!(rig.folder().join("data-main/deep/er").exists());
        get(&url, "/put?trial");
    }
    assert_eq!(seeds(&world), 1);
}

#[test]
fn data_that_is_kept_shows_what_earlier_trials_left() {
    let world = World::new();
    let (mut rig, url) = world.running(&seeded("keep"));
    get(&url, "/put?trial");
    rig.reset("main").unwrap();
    let url = rig.start("main", &Overrides::default()).unwrap().url;
    assert_eq!(get(&url, "/get"), "seed\ntrial\n");
    assert_eq!(seeds(&world), 1);
}

#[test]
fn a_seed_that_is_the_reset_runs_again_on_an_empty_folder() {
    let world = World::new();
    let (mut rig, url) = world.running(&seeded("seed"));
    get(&url, "/put?trial");
    rig.reset("main").unwrap();
    let url = rig.start("main", &Overrides::default()).unwrap().url;
    assert_eq!(get(&url, "/get"), "seed\n");
    assert_eq!(seeds(&world), 2);
}

/// Runs git in `folder`, which has to work.
fn git(folder: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=trunk"];
    let mut command = Command::new("git");
    command.args(who).args(args).current_dir(folder).env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with a study in a folder of its own, whose service says what the revision has.
fn repository(world: &World) -> std::path::PathBuf {
    let top = world.study.path();
    let study = top.join("deep/study");
    std::fs::create_dir_all(&study).unwrap();
    git(top, &["init", "--quiet"]);
    for version in ["one", "two"] {
        std::fs::write(study.join("version"), version).unwrap();
        git(top, &["add", "."]);
        git(top, &["commit", "--quiet", "-m", version]);
        git(top, &["tag", version]);
    }
    std::fs::write(study.join("version"), "not committed").unwrap();
    study
}

#[test]
fn arms_that_are_revisions_are_built_apart_and_leave_the_repository_as_it_was() {
    let world = World::new();
    let study = repository(&world);
    let before = git(&study, &["status", "--porcelain", "--ignored"]);
    let declaration = crate::world::filled(
        r#"
        [service.main]
        build = "cp version built"
        command = ["sh", "-c", "exec HOST serve {port} {data} $(cat built)"]
        seed = ["sh", "-c", "cp built {data}/texts"]
        reset = "copy"
        "#,
    );
    let mut options = world.options();
    options.study.clone_from(&study);
    let mut rig = knee_rig::Rig::up(&toml::from_str(&declaration).unwrap(), &options).unwrap();
    let revision = |name: &str| Overrides { revision: Some(name.to_owned()), ..Overrides::default() };
    for (name, expected) in [("one", "one"), ("two", "two"), ("two~1", "one"), ("one", "one")] {
        let url = rig.start("main", &revision(name)).unwrap().url;
        assert_eq!(get(&url, "/args"), expected);
        assert_eq!(get(&url, "/get"), expected, "each revision has its own seed");
    }
    let url = rig.start("main", &Overrides::default()).unwrap().url;
    assert_eq!(get(&url, "/args"), "not committed");
    let error = rig.start("main", &revision("three")).unwrap_err();
    assert!(error.to_string().starts_with("revision `three` cannot be checked out: "), "{error}");
    assert!(rig.start("main", &revision("--upload-pack=x")).is_err());
    rig.down().unwrap();
    std::fs::remove_file(study.join("built")).unwrap();
    assert_eq!(git(&study, &["status", "--porcelain", "--ignored"]), before);
    assert_eq!(git(&study, &["worktree", "list"]).lines().count(), 1);
    world.assert_nothing_left();
}
