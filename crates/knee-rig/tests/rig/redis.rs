//! Redis: private servers, their settings and resets.

use knee_rig::Overrides;

use crate::postgres::url;
use crate::world::World;

const SERVER: &str = r#"
[redis.cache]
settings = { maxmemory = "20mb", appendonly = true }

[service.main]
command = ["HOST", "serve", "{port}", "{data}", "{redis.cache.url}"]
reset = "stores"
seed = ["redis-cli", "-u", "{redis.cache.url}", "EVAL", '''
    redis.call('SELECT', 3) redis.call('HSET', 'h', 'a', 'b')
    redis.call('SELECT', 0) redis.call('SET', 'binary', '\0\255\n', 'EX', 1000)
    for i = 1, 2000 do redis.call('RPUSH', 'list' .. (i % 700), i) end''', "0"]
"#;

fn ask<T: redis::FromRedisValue>(url: &str, words: &[&str]) -> T {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query(&mut connection).unwrap()
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_server_has_its_settings_wants_a_password_and_is_gone_with_its_rig() {
    let world = World::new();
    let rig = world.up(SERVER).unwrap_or_else(|error| panic!("{error}\n{}", error.hint()));
    let url = url(&rig, "redis.cache");
    assert_eq!(ask::<Vec<String>>(&url, &["CONFIG", "GET", "maxmemory"])[1], "20971520");
    assert_eq!(ask::<Vec<String>>(&url, &["CONFIG", "GET", "appendonly"])[1], "yes");
    let open = format!("redis://{}", url.split_once('@').unwrap().1);
    let refused =
        redis::Client::open(open).unwrap().get_connection().and_then(|mut c| redis::cmd("PING").exec(&mut c));
    assert!(refused.is_err());
    rig.down().unwrap();
    assert!(redis::Client::open(url).unwrap().get_connection().is_err());
    world.assert_nothing_left();
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_reset_brings_every_key_of_every_database_back_and_no_other() {
    let world = World::new();
    let (mut rig, _) = world.running(SERVER);
    let url = url(&rig, "redis.cache");
    let third = url.replace("/0", "/3");
    let size = |url: &str| ask::<u64>(url, &["DBSIZE"]);
    for _ in 0..2 {
        assert_eq!((size(&url), size(&third)), (701, 1));
        ask::<()>(&url, &["DEL", "binary", "list3"]);
        ask::<()>(&url, &["RPUSH", "list4", "x"]);
        ask::<()>(&third, &["SET", "more", "x"]);
        rig.reset("main").unwrap();
        rig.start("main", &Overrides::default()).unwrap();
    }
    assert_eq!(ask::<Vec<u8>>(&url, &["GET", "binary"]), b"\0\xff\n");
    assert!((900..=1000).contains(&ask::<i64>(&url, &["TTL", "binary"])));
    assert_eq!(ask::<Vec<String>>(&url, &["LRANGE", "list4", "0", "-1"]), ["4", "704", "1404"]);
    assert_eq!(ask::<String>(&third, &["HGET", "h", "a"]), "b");
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn an_arm_with_other_directives_has_the_seeded_keys() {
    let world = World::new();
    let (mut rig, _) = world.running(SERVER);
    let more = [("appendonly".to_owned(), knee_core::rig::Setting::Bool(false))].into();
    let overrides = Overrides { redis: [("cache".to_owned(), more)].into(), ..Overrides::default() };
    rig.start("main", &overrides).unwrap();
    let url = url(&rig, "redis.cache");
    assert_eq!(ask::<Vec<String>>(&url, &["CONFIG", "GET", "appendonly"])[1], "no");
    assert_eq!(ask::<u64>(&url, &["DBSIZE"]), 701);
}

#[test]
#[cfg_attr(not(feature = "redis-tests"), ignore = "needs Redis: --features redis-tests")]
fn a_directive_that_does_not_exist_is_told_in_the_words_of_the_server() {
    let world = World::new();
    let error = world.up("[redis.cache]\nsettings = { maxmemori = 1 }\n").err().unwrap().to_string();
    assert!(error.starts_with("Redis `cache` ended before it was up (exit code 1)"), "{error}");
    assert!(error.contains("maxmemori"), "{error}");
    world.assert_nothing_left();
}
