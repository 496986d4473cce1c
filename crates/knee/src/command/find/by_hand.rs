//! What to type to try a remedy that knee does not apply by itself.
//!
//! Does not choose the remedy.

use knee_engine::secret;
use knee_report::View;

use crate::args::FindArgs;

/// What knee does not write to.
pub(super) const NOT_STARTED: &str = "a database that it did not start";

/// What to type to try the remedy of the first finding. Addresses are without their secrets: this is saved.
pub(super) fn by_hand(view: &View, args: &FindArgs) -> Vec<String> {
    let Some(first) = view.findings.findings.first().filter(|first| !first.is_hint()) else {
        return Vec::new();
    };
    let url = quoted(&secret::shown_script(&args.target)) + if args.sweep { " --sweep" } else { "" };
    let again = "# then again: what stops it now";
    let observe =
        args.observe.targets.iter().fold(String::new(), |text, target| {
            text + " --observe " + &quoted(&secret::shown_script(target))
        });
    match first.remedy.sql() {
        Some(sql) => vec![
            format!("# in {}", first.subject.source.as_deref().unwrap_or("the database")),
            format!("{};", sql.replacen("CREATE INDEX", "CREATE INDEX CONCURRENTLY", 1)),
            again.to_owned(),
            format!("knee find {url}{observe}"),
            "# for an interval: a study of both variants, docs/guide/study.md".to_owned(),
        ],
        None => vec![
            "# with the service as it is, and with the remedy".to_owned(),
            "knee compare './old --port {port}' './new --port {port}'".to_owned(),
            again.to_owned(),
            format!("knee find {url}{observe}"),
        ],
    }
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    shlex::try_quote(text).unwrap_or_default().into_owned()
}
