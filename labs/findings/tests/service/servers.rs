//! The other servers as a process: it is no descendant of the shop, and ends with it.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use findings::servers::Addresses;
use testbed::wait;

use crate::fixture::PROGRAM;

#[tokio::test]
async fn the_other_servers_outlive_the_process_that_starts_them_and_end_with_their_input() {
    let mut program = Command::new(PROGRAM);
    program.args(["servers", "--apart"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let (input, mut line) = (child.stdin.take(), String::new());
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    let url = format!("http://{}/rates/1?ms=1", Addresses::read(&line).unwrap().http);
    let rates = reqwest::get(&url).await.unwrap().text().await.unwrap();
    assert!(rates.contains("\"usd\":1.1"), "{rates}");
    drop(input);
    wait("the servers end", async || reqwest::get(&url).await.is_err()).await;
}
