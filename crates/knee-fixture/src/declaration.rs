//! Checks a declaration before anything starts: its references and contradictions.
//!
//! Finds every mistake that can be found without starting anything.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::fixture::placeholder;
use knee_core::fixture::{Declaration, Reset, Service};

use crate::error::Error;
use crate::overrides::Overrides;
use crate::placeholder::{Placeholders, fill};
use crate::{placement, ready};

/// The entry with the CPU weight of the generator.
pub const GENERATOR_WEIGHT: &str = "generator.cpu_weight";

/// Refuses a declaration that cannot be started.
pub(crate) fn check(declaration: &Declaration) -> Result<(), Error> {
    let names = [
        ("service", declaration.service.keys().collect::<Vec<_>>()),
        ("postgres", declaration.postgres.keys().collect()),
        ("redis", declaration.redis.keys().collect()),
    ];
    for (table, names) in names {
        names.iter().try_for_each(|name| check_name(table, name))?;
    }
    for (name, service) in &declaration.service {
        check_service(name, service)?;
        check_reset(declaration, name, service)?;
        check_texts(declaration, name, service)?;
    }
    check_syntax(declaration.generator.cpus.as_ref(), "generator.cpus")?;
    check_weight(declaration.generator.cpu_weight)?;
    check_cycles(declaration)
}

/// Refuses a start of a service that cannot succeed: an unknown placeholder, or no way to know its port.
///
/// # Errors
///
/// The entry, and what is wrong with it.
pub fn check_start(declaration: &Declaration, name: &str, overrides: &Overrides) -> Result<(), Error> {
    let Some(declared) = declaration.service.get(name) else { return Ok(()) };
    if declared.address.is_some() {
        return check_own(name, declared, overrides);
    }
    let mut service = declared.clone();
    service.command = overrides.command.clone().unwrap_or(service.command);
    service.command.extend(overrides.args.iter().cloned());
    service.env.extend(overrides.env.clone());
    check_texts(declaration, name, &service)?;
    let mut listens = service.command.iter().chain(service.env.values());
    if service.port.is_some() || listens.any(|text| placeholder::named(text).contains("port")) {
        return Ok(());
    }
    Err(Error::NoPort { at: format!("service.{name}.command") })
}

/// Refuses changes of a service that the user runs: they would have no effect.
pub(crate) fn check_own(name: &str, declared: &Service, overrides: &Overrides) -> Result<(), Error> {
    if declared.address.is_none() || *overrides == Overrides::default() {
        return Ok(());
    }
    let what =
        "means that you run the service, so switches, `env`, `command` and `revision` cannot change it";
    Err(Error::declared(format!("service.{name}.address"), what))
}

/// Refuses texts of a service with a placeholder that does not exist.
pub(crate) fn check_texts(declaration: &Declaration, name: &str, service: &Service) -> Result<(), Error> {
    let mut known = known(declaration);
    known.extend(placeholder::OF_SERVICE.map(|name| (name.to_owned(), String::new())));
    for (at, text) in texts(name, service) {
        fill(&text, &known, &at)?;
    }
    Ok(())
}

/// The placeholders that every text can have, without their values.
pub(crate) fn known(declaration: &Declaration) -> Placeholders {
    placeholder::names(declaration).into_iter().map(|name| (name, String::new())).collect()
}

/// The texts of a service with the placeholders that they are written at.
pub(crate) fn texts(name: &str, service: &Service) -> Vec<(String, String)> {
    let at = |what: &str| format!("service.{name}.{what}");
    let command = service.command.iter().map(|text| (at("command"), text.clone()));
    let seed = service.seed.iter().map(|text| (at("seed"), text.clone()));
    let env = service.env.iter().map(|(key, text)| (at(&format!("env.{key}")), text.clone()));
    command.chain(seed).chain(env).collect()
}

/// The services, databases or caches (`table`) that the texts of a service name.
pub(crate) fn referred(name: &str, service: &Service, table: &str) -> BTreeSet<String> {
    texts(name, service).iter().flat_map(|(_, text)| named_in(text, table)).collect()
}

/// The services, databases or caches (`table`) that a text names.
pub(crate) fn named_in(text: &str, table: &str) -> BTreeSet<String> {
    let of_table = |placeholder: &str| {
        let mut parts = placeholder.split('.');
        (parts.next() == Some(table)).then(|| parts.next().map(str::to_owned))?
    };
    placeholder::named(text).into_iter().filter_map(of_table).collect()
}

/// Beyond this weight, the share of services would be smaller than the kernel supports.
fn check_weight(weight: Option<u32>) -> Result<(), Error> {
    const HEAVIEST: u32 = 50;
    match weight {
        Some(weight) if !(1..=HEAVIEST).contains(&weight) => {
            Err(Error::declared(GENERATOR_WEIGHT, format!("is {weight}, but must be 1 to {HEAVIEST}")))
        }
        _ => Ok(()),
    }
}

/// Checks a name; names become names of files and databases.
fn check_name(table: &str, name: &str) -> Result<(), Error> {
    const LONGEST: usize = 32;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=LONGEST).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    let text = format!("is not a name: use up to {LONGEST} letters, digits, `_` and `-`");
    Err(Error::declared(format!("{table}.{name}"), text))
}

fn check_service(name: &str, service: &Service) -> Result<(), Error> {
    let at = |what: &str| format!("service.{name}.{what}");
    if let Some(address) = &service.address {
        if !service.command.is_empty() || service.build.is_some() || !service.seed.is_empty() {
            return Err(Error::declared(
                at("address"),
                "means that knee starts no process, so leave out command, build and seed",
            ));
        }
        if ready::authority(address).is_none() {
            return Err(Error::declared(
                at("address"),
                format!("is `{address}`, but must be http://host:port"),
            ));
        }
    } else if service.command.first().is_none_or(String::is_empty) {
        return Err(Error::declared(at("command"), "is empty, and there is no `address`"));
    }
    for (what, path) in [("ready.path", &service.ready.path), ("metrics", &service.metrics)] {
        if path.as_ref().is_some_and(|path| !path.starts_with('/') || path.contains(char::is_whitespace)) {
            return Err(Error::declared(at(what), "must begin with `/` and contain no blanks"));
        }
    }
    // Behind it, observers expect options of theirs.
    if service.metrics.as_ref().is_some_and(|path| path.contains('#')) {
        return Err(Error::declared(at("metrics"), "must contain no `#`"));
    }
    let times = [("ready.within_s", Some(service.ready.within_s)), ("stop_within_s", service.stop_within_s)];
    let numbers = times.into_iter().chain([("cpu_limit", service.cpu_limit)]);
    for (what, number) in numbers {
        if number.is_some_and(|number| !number.is_finite() || number <= 0.0) {
            return Err(Error::declared(at(what), "must be more than zero"));
        }
    }
    if service.seed.first().is_some_and(String::is_empty) {
        return Err(Error::declared(at("seed"), "begins with an empty word"));
    }
    check_syntax(service.cpus.as_ref(), &at("cpus"))
}

fn check_syntax(cpus: Option<&String>, at: &str) -> Result<(), Error> {
    cpus.map_or(Ok(()), |text| placement::cpus(text, at).map(drop))
}

/// Refuses resets of stores that the user runs, and of a store by two services.
fn check_reset(declaration: &Declaration, name: &str, service: &Service) -> Result<(), Error> {
    if !matches!(service.reset, Reset::Stores | Reset::Seed) {
        return Ok(());
    }
    let own: BTreeMap<String, bool> =
        (declaration.postgres.iter().map(|(n, p)| (format!("postgres.{n}"), p.address.is_some())))
            .chain(declaration.redis.iter().map(|(n, r)| (format!("redis.{n}"), r.address.is_some())))
            .collect();
    let stores = |name: &str, service: &Service| -> BTreeSet<String> {
        let of = |table: &str| {
            referred(name, service, table)
                .into_iter()
                .map(move |store| format!("{table}.{store}"))
                .collect::<Vec<_>>()
        };
        of("postgres").into_iter().chain(of("redis")).collect()
    };
    let mine = stores(name, service);
    let at = format!("service.{name}.reset");
    if let Some(store) = mine.iter().find(|store| own.get(*store) == Some(&true)) {
        return Err(Error::declared(
            at,
            format!("would empty `{store}`, but knee did not start this store; use `keep` or `copy`"),
        ));
    }
    let others = declaration
        .service
        .iter()
        .filter(|(other, service)| *other != name && matches!(service.reset, Reset::Stores | Reset::Seed));
    for (other, service) in others {
        if let Some(store) = stores(other, service).intersection(&mine).next() {
            return Err(Error::declared(
                at,
                format!("resets `{store}`, but the reset of `{other}` also resets this store"),
            ));
        }
    }
    Ok(())
}

/// Refuses services that refer to one another in a circle: none could start first.
fn check_cycles(declaration: &Declaration) -> Result<(), Error> {
    for name in declaration.service.keys() {
        walk(declaration, name, &mut Vec::new())?;
    }
    Ok(())
}

fn walk(declaration: &Declaration, name: &str, path: &mut Vec<String>) -> Result<(), Error> {
    let seen = path.iter().position(|other| other == name);
    path.push(name.to_owned());
    if let Some(first) = seen {
        return Err(Error::Cycle { names: path[first..].to_vec() });
    }
    let Some(service) = declaration.service.get(name) else {
        path.pop();
        return Ok(());
    };
    for other in referred(name, service, "service") {
        walk(declaration, &other, path)?;
    }
    path.pop();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use knee_core::fixture::{Postgres, Redis};

    fn service(words: &[&str]) -> Service {
        Service { command: words.iter().map(|&word| word.to_owned()).collect(), ..Service::default() }
    }

    fn refused(services: &[(&str, Service)]) -> String {
        let service = services.iter().map(|(name, service)| ((*name).to_owned(), service.clone())).collect();
        let postgres = [("db".to_owned(), Postgres::default())].into();
        let redis = Redis { address: Some("redis://x".into()), ..Redis::default() };
        let redis = [("own".to_owned(), redis)].into();
        check(&Declaration { service, postgres, redis, ..Declaration::default() })
            .map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn services_that_wait_for_one_another_are_named_in_their_circle() {
        let text =
            refused(&[("a", service(&["x", "{service.b.url}"])), ("b", service(&["x", "{service.a.url}"]))]);
        assert_eq!(text, "these services wait for each other, so none of them can start: a -> b -> a");
        let text = refused(&[("a", service(&["x", "{service.a.url}"]))]);
        assert_eq!(text, "these services wait for each other, so none of them can start: a -> a");
        assert_eq!(refused(&[("a", service(&["x", "{service.b.url}"])), ("b", service(&["x"]))]), "");
    }

    #[test]
    fn what_cannot_be_brought_up_is_named_before_anything_is_started() {
        let with = |change: fn(&mut Service)| {
            let mut service = service(&["x"]);
            change(&mut service);
            refused(&[("a", service)])
        };
        assert_eq!(
            refused(&[("a", Service::default())]),
            "`service.a.command` is empty, and there is no `address`"
        );
        assert!(refused(&[("a/b", service(&["x"]))]).contains("is not a name"));
        assert!(with(|s| s.address = Some("http://x".into())).contains("leave out command"));
        assert!(with(|s| s.ready.path = Some("health".into())).contains("begin with `/`"));
        assert!(
            with(|s| s.metrics = Some("/my metrics".into())).starts_with("`service.a.metrics` must begin")
        );
        assert_eq!(
            with(|s| s.metrics = Some("/metrics#all".into())),
            "`service.a.metrics` must contain no `#`"
        );
        assert!(with(|s| s.ready.within_s = f64::NAN).contains("more than zero"));
        assert!(with(|s| s.cpu_limit = Some(-1.0)).contains("more than zero"));
        assert!(with(|s| s.cpus = Some("x".into())).contains("must be CPUs"));
        assert_eq!(with(|_| ()), "");
    }

    #[test]
    fn a_service_that_cannot_know_its_port_is_refused_before_it_is_started() {
        let start = |service: Service, overrides: &Overrides| {
            let service = [("main".to_owned(), service)].into();
            check_start(&Declaration { service, ..Declaration::default() }, "main", overrides)
                .map_err(|error| error.to_string())
        };
        let none = Overrides::default();
        let error = start(service(&["server", "--port", "8080"]), &none).unwrap_err();
        assert_eq!(
            error,
            "`service.main.command` has no `{port}`, so the service cannot know on which port to listen"
        );
        assert_eq!(start(service(&["server", "{port}"]), &none), Ok(()));
        assert_eq!(start(Service { port: Some(80), ..service(&["server"]) }, &none), Ok(()));
        let env = [("PORT".to_owned(), "{port}".to_owned())].into();
        assert_eq!(start(service(&["server"]), &Overrides { env, ..none.clone() }), Ok(()));
        let args = vec!["{prot}".to_owned()];
        assert!(start(service(&["server"]), &Overrides { args, ..none }).unwrap_err().contains("`{prot}`"));
    }

    #[test]
    fn a_service_that_the_user_runs_cannot_be_changed_by_a_variant() {
        let own = Service { address: Some("http://127.0.0.1:1".to_owned()), ..Service::default() };
        let declaration =
            Declaration { service: [("main".to_owned(), own)].into(), ..Declaration::default() };
        let env = [("CACHE".to_owned(), "on".to_owned())].into();
        let error =
            check_start(&declaration, "main", &Overrides { env, ..Overrides::default() }).unwrap_err();
        assert!(
            error.to_string().starts_with("`service.main.address` means that you run the service"),
            "{error}"
        );
        assert!(check_start(&declaration, "main", &Overrides::default()).is_ok());
    }

    #[test]
    fn stores_of_the_users_own_and_of_two_services_are_not_reset() {
        let resets = |text: &str| Service { reset: Reset::Stores, ..service(&["x", text]) };
        assert!(refused(&[("a", resets("{redis.own.url}"))]).contains("but knee did not start this store"));
        let text = refused(&[("a", resets("{postgres.db.url}")), ("b", resets("{postgres.db.port}"))]);
        assert_eq!(
            text,
            "`service.a.reset` resets `postgres.db`, but the reset of `b` also resets this store"
        );
        assert_eq!(
            refused(&[("a", resets("{postgres.db.url}")), ("b", service(&["{postgres.db.url}"]))]),
            ""
        );
    }
}
