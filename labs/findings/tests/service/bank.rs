//! The defect of the queue before the bank.

use findings::bank::{LINES, TAKE};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_order_asks_for_a_line_to_the_bank_once_and_again_and_again_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, asks_again) in [("none", false), ("no-admission", true)] {
        let service = Service::with(&stores, defect).await;
        // All are there before the first payment is done, so ten of them find no free line.
        service.post_many("/sales?ms=500", 12).await;
        let asked = service.logged(TAKE);
        assert_eq!(asked > 12, asks_again, "{defect}: {asked}");
        assert!(asked >= 12, "{defect}: {asked}");
        assert_eq!(service.number("SELECT count(*) FROM sales WHERE event = 2").await, 12);
        let free = service.number("SELECT count(*) FROM bank_lines WHERE taken_until < now()").await;
        assert_eq!(free, LINES as i64, "{defect}");
    }
}
