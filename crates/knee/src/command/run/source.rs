//! Loads the script and its options.
//!
//! Sends nothing. Finds the errors of both before any load.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use knee_engine::secret::shown_script;
use knee_js::loader::remote::RemoteSettings;
use knee_js::program::Surroundings;
use knee_js::program::archive::Archive;
use knee_js::program::bundle::Bundle;
use knee_js::program::files::{Reach, Script, bounded};
use knee_js::session::{Session, SessionError};
use knee_js::vu::LoadError;
use knee_k6::options::exported::plain;
use knee_k6::options::resolve::{Layers, resolve};
use knee_k6::options::{Layer, Options};
use knee_k6::secrets::Secrets;

use super::log::Lines;
use crate::args::RunArgs;
use crate::command::failed::{Failed, failed, refused};
use crate::exit::Exit;
use crate::fetch::Network;
use crate::problem::{Problem, reason};
use crate::settings::network;
use crate::settings::script::Asked;
use crate::store;

/// Loads the script with its environment and the folders it can read.
pub fn load(args: &RunArgs, asked: &Asked, lines: &Arc<Lines>) -> Result<Session, Failed> {
    let mut environment: Vec<(String, String)> = Vec::new();
    if asked.system_environment {
        // What is not UTF-8 cannot be a text of a script.
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        environment.extend(std::env::vars_os().filter_map(readable));
    }
    for (name, value) in &asked.environment {
        environment.retain(|(known, _)| known != name);
        environment.push((name.clone(), value.clone()));
    }
    let secrets = Secrets::configured(&asked.secret_sources, &|path: &str| std::fs::read(path));
    let secrets = Arc::new(secrets.map_err(|error| {
        let hint = "write file=FILE, with a line NAME=VALUE for each secret, or mock=NAME=VALUE";
        refused(Problem::new(error.to_string(), hint))
    })?);
    let surroundings = Surroundings {
        environment,
        reach: reach(args),
        limits: knee_js::program::Limits::default(),
        narrator: lines.narrator(),
        console: Some(lines.console()),
        remote: remote(args),
        secrets: secrets.clone(),
    };
    let script = script(args).map_err(|error| unreadable(args, &error))?;
    let (script, surroundings) = match archive(args, &script)? {
        Some(archive) => of_archive(archive, surroundings),
        None => (script, surroundings),
    };
    Session::load(script, surroundings).map_err(|error| of_session(args, &secrets, error))
}

/// Why a script cannot be loaded.
fn of_session(args: &RunArgs, secrets: &Secrets, error: SessionError) -> Failed {
    match error {
        SessionError::Script(LoadError::Script(thrown)) => (
            Problem::new(
                format!(
                    "the script threw an error while knee loaded it: {}",
                    secrets.masked(&thrown.to_string())
                ),
                "",
            ),
            Exit::Script,
        ),
        SessionError::Script(LoadError::Aborted(words)) => (
            Problem::new(
                secrets.masked(&words),
                "the script aborted while knee loaded it; knee sent no request",
            ),
            Exit::Abort,
        ),
        SessionError::Module(trouble) => (Problem::new(trouble.what, trouble.hint), Exit::Script),
        SessionError::Io(error) => unreadable(args, &error),
        SessionError::Script(error) => failed(Problem::new(error.to_string(), "")),
    }
}

/// Loads a script that another machine sent, with what it read there.
pub fn load_bundle(
    args: &RunArgs,
    asked: &Asked,
    lines: &Arc<Lines>,
    bundle: Bundle,
) -> Result<Session, Failed> {
    let surroundings = Surroundings {
        environment: asked.environment.clone(),
        reach: Reach::default(),
        limits: knee_js::program::Limits::default(),
        narrator: lines.narrator(),
        console: Some(lines.console()),
        remote: RemoteSettings {
            fetch: Some(bundle.network()),
            cache: None,
            reload: false,
            replacements: !args.modules.no_replacements,
        },
        secrets: Arc::default(),
    };
    Session::load(Script::Bundle(bundle), surroundings)
        .map_err(|error| of_session(args, &Secrets::default(), error))
}

/// The files that the script can read: enough for suites whose scripts share data, as k6 users expect, but not the
/// whole machine.
fn reach(args: &RunArgs) -> Reach {
    let also = args.script_flags.allow_read.clone();
    if args.script_flags.root.is_some() {
        return Reach { root: args.script_flags.root.clone(), also, by_file: None };
    }
    // Where services are started the working directory is often `/`, which was not chosen for what it contains.
    let working = std::env::current_dir().ok().filter(|folder| folder.parent().is_some());
    let by_file = |file: &Path| repository(file).or_else(|| suite(file));
    Reach { root: None, also: also.into_iter().chain(working).collect(), by_file: Some(by_file) }
}

/// The innermost folder above a file that is the root of a repository.
fn repository(file: &Path) -> Option<PathBuf> {
    file.ancestors().skip(1).find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

/// The folder above a file's own, where suites without a repository keep what their scripts share; not a home
/// directory, and nothing that lies as high as `/tmp`.
fn suite(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?.parent()?;
    let is_home = std::env::home_dir().is_some_and(|home| home.starts_with(folder));
    (folder.components().count() > 2 && !is_home).then(|| folder.to_owned())
}

fn unreadable(args: &RunArgs, error: &std::io::Error) -> Failed {
    let script = shown_script(&args.script);
    let hint = if args.script.contains("://") {
        "knee reads scripts from files and https:// URLs; to load a URL write `knee URL`"
    } else {
        "give the path of a script, or - for standard input"
    };
    refused(Problem::new(format!("`{script}` cannot be read: {}", reason(error)), hint))
}

/// The script that was asked for; `-` is standard input, and its imports begin in the working folder.
fn script(args: &RunArgs) -> std::io::Result<Script> {
    if args.script.starts_with("https://") {
        return Ok(Script::Url { address: args.script.clone(), folder: std::env::current_dir()? });
    }
    if args.script != "-" {
        return Ok(Script::File(args.script.clone().into()));
    }
    let source = bounded(std::io::stdin().lock())?;
    Ok(Script::Text { folder: std::env::current_dir()?, source })
}

/// The archive that a script is.
fn archive(args: &RunArgs, script: &Script) -> Result<Option<Archive>, Failed> {
    if !is_archive(script).map_err(|error| unreadable(args, &error))? {
        return Ok(None);
    }
    let read = match script {
        Script::File(path) => {
            let file = std::fs::File::open(path).map_err(|error| unreadable(args, &error))?;
            Archive::read(std::io::BufReader::new(file))
        }
        Script::Text { source, .. } => Archive::read(&source[..]),
        Script::Url { .. } | Script::Bundle(_) => return Ok(None),
    };
    read.map(Some).map_err(|error| {
        let what = format!("`{}` is an archive that cannot be read: {error}", shown_script(&args.script));
        refused(Problem::new(what, "make it again with `knee archive` or `k6 archive`"))
    })
}

/// The script in an archive, and what it is given: variables of this machine count more than those of the archive.
fn of_archive(archive: Archive, mut surroundings: Surroundings) -> (Script, Surroundings) {
    let Archive { mut bundle, environment } = archive;
    bundle.variables = environment.keys().cloned().collect();
    for (name, value) in environment {
        if surroundings.environment.iter().all(|(known, _)| *known != name) {
            surroundings.environment.push((name, value));
        }
    }
    surroundings.remote.fetch = Some(bundle.network());
    surroundings.remote.cache = None;
    surroundings.remote.reload = false;
    (Script::Bundle(bundle), surroundings)
}

/// Whether a script is a tar file, as `k6 archive` makes it, by its first block.
fn is_archive(script: &Script) -> std::io::Result<bool> {
    const MAGIC: std::ops::Range<usize> = 257..262;
    let has_magic = |block: &[u8]| block.get(MAGIC) == Some(b"ustar");
    match script {
        Script::Text { source, .. } => Ok(has_magic(source)),
        Script::File(path) if std::fs::metadata(path).is_ok_and(|file| file.is_file()) => {
            let mut block = Vec::with_capacity(MAGIC.end);
            std::fs::File::open(path)?.take(MAGIC.end as u64).read_to_end(&mut block)?;
            Ok(has_magic(&block))
        }
        Script::File(_) | Script::Url { .. } | Script::Bundle(_) => Ok(false),
    }
}

/// Sources of modules that are not files.
fn remote(args: &RunArgs) -> RemoteSettings {
    let home = store::home(|name| std::env::var_os(name));
    RemoteSettings {
        fetch: (!args.modules.offline).then(|| Arc::new(Network::default()) as Arc<_>),
        cache: home.map(|home| home.join("modules")),
        reload: args.modules.reload,
        replacements: !args.modules.no_replacements,
    }
}

/// The options of all layers: file, script, variables, flags.
pub fn options(asked: &Asked, session: &Session) -> Result<Options, Failed> {
    let script = exported(session)?;
    let layers = Layers { file: asked.file.clone(), script, env: asked.env.clone(), cli: asked.cli.clone() };
    resolve(layers, |name| session.exports(name)).map_err(|error| wrong(&error))
}

/// The options of the script alone, as k6 shows them.
pub fn of_script(session: &Session) -> Result<serde_json::Value, Failed> {
    let script = exported(session)?;
    let (layer, _) = Layer::from_value(&script).map_err(|error| wrong(&error))?;
    Ok(plain(&layer, script.get("ext").unwrap_or(&serde_json::Value::Null)))
}

fn exported(session: &Session) -> Result<serde_json::Value, Failed> {
    match &session.description.options {
        Some(json) => serde_json::from_str(json).map_err(|error| wrong(&error)),
        None => Ok(serde_json::Value::Null),
    }
}

fn wrong(error: &dyn std::fmt::Display) -> Failed {
    refused(Problem::new(
        error.to_string(),
        "options come from the script, from flags and from variables K6_*",
    ))
}

/// Options that have no effect, one sentence each.
pub fn unsupported(options: &Options) -> Vec<String> {
    let (http, run) = (&options.http, &options.run);
    let asked = [(http.debug.is_some(), "httpDebug"), (run.paused, "paused")];
    let sentence = |name: &str| format!("the option `{name}` has no effect in this version");
    let ineffective = asked.into_iter().filter(|(given, _)| *given).map(|(_, name)| sentence(name));
    ineffective.chain(network::warnings(http)).collect()
}
