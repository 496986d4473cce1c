//! Sign-ups, in PostgreSQL, each of which gets a mail.
//!
//! Does not parse HTTP. The server of mails is in [`crate::servers`], and takes 120 ms for one.

use std::sync::Arc;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

const SIGN_UP: &str = "INSERT INTO signups (member) VALUES ($1)";

/// Signs a member up. A healthy shop sends the mail in the background; with the defect, the request waits until the
/// server of mails has taken it.
///
/// # Errors
/// PostgreSQL fails; the server of mails fails while the request waits for it.
pub async fn sign_up(shop: &Shop, member: i64) -> Result<(), Refusal> {
    shop.database.execute(SIGN_UP, &[&member]).await?;
    if shop.has(Defect::InlineMail) {
        shop.calls.send_mail(member).await?;
    } else {
        let calls = Arc::clone(&shop.calls);
        tokio::spawn(async move {
            // A mail that fails is sent again by hand.
            let _ = calls.send_mail(member).await;
        });
    }
    Ok(())
}
