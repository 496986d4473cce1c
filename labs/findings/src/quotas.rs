//! What the shop asks about the quota of a member and about their contacts.
//!
//! Does not parse HTTP: [`crate::calls`] asks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::calls::{Calls, HttpClient};
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// How long the server of the quotas takes, and the first exchange on a new connection to it, which stands for the
/// handshakes of TCP and TLS with a server that is far away.
const QUOTA: Duration = Duration::from_millis(3);
const HANDSHAKE: Duration = Duration::from_millis(20);

/// Contacts of a page that the server of the contacts sends by default, and how long it takes for one page, and for all
/// contacts of a member at once.
const PAGE: u64 = 10;
const ONE: Duration = Duration::from_millis(6);
const ALL: Duration = Duration::from_millis(9);

/// What the shop keeps for the quotas.
#[derive(Default)]
pub struct Allowances {
    /// The client that all requests share, with its connection.
    client: OnceCell<HttpClient>,
}

impl Allowances {
    async fn client(&self, is_new: bool, calls: &Calls) -> Result<HttpClient, Refusal> {
        if is_new {
            return connect(calls).await;
        }
        self.client.get_or_try_init(|| connect(calls)).await.cloned()
    }
}

/// A client with a connection, which ends with it.
async fn connect(calls: &Calls) -> Result<HttpClient, Refusal> {
    let client = calls.new_client();
    client.ask("handshakes", 1, HANDSHAKE).await?;
    Ok(client)
}

/// The quota of a member. A healthy shop keeps its connection; the defect opens one for each call.
///
/// # Errors
/// The server fails.
pub async fn quota(shop: &Shop, member: u64) -> Result<Value, Refusal> {
    let client = shop.allowances.client(shop.has(Defect::HandshakePerCall), &shop.calls).await?;
    let quota = client.ask("quotas", member, QUOTA).await?;
    Ok(json!({"member": member, "says": quota["says"]}))
}

/// The contacts of a member: by one call, or page by page with the defect, each after the one before.
///
/// # Errors
/// The server fails.
pub async fn contacts(shop: &Shop, member: u64) -> Result<Value, Refusal> {
    let known = known(&shop.calls, member, shop.has(Defect::SmallPages)).await?;
    Ok(json!({"member": member, "known": known}))
}

/// How many contacts of a member the server knows.
async fn known(calls: &Calls, member: u64, is_paged: bool) -> Result<u64, Refusal> {
    let pages = pages(member);
    if !is_paged {
        calls.ask("contacts", member, ALL).await?;
        return Ok(pages * PAGE);
    }
    for page in 0..pages {
        calls.ask("contacts", member * PAGE + page, ONE).await?;
    }
    Ok(pages * PAGE)
}

/// Pages that the contacts of a member are: three to nine.
const fn pages(member: u64) -> u64 {
    3 + member % 7
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_connection_is_opened_for_each_call_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (is_new, waits) in [(false, false), (true, true)] {
            let (allowances, mut shortest) = (Allowances::default(), Duration::MAX);
            for _ in 0..5 {
                let start = Instant::now();
                let client = allowances.client(is_new, &calls).await.unwrap();
                assert_eq!(client.ask("quotas", 7, QUOTA).await.unwrap()["says"], "fine");
                shortest = shortest.min(start.elapsed());
            }
            assert_eq!(shortest >= HANDSHAKE, waits, "{is_new}: {shortest:?}");
        }
    }

    #[tokio::test]
    async fn contacts_are_read_page_by_page_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (is_paged, waits) in [(false, false), (true, true)] {
            let mut shortest = Duration::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                assert_eq!(known(&calls, 6, is_paged).await.unwrap(), 90);
                shortest = shortest.min(start.elapsed());
            }
            assert_eq!(shortest >= ONE * 9, waits, "{is_paged}: {shortest:?}");
        }
    }
}
