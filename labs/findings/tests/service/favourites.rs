//! The defect of favourites.

use findings::favourites::FAVOURITES;
use testbed::wait;

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_main_thread_of_redis_frees_old_favourites_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, deleted, unlinked) in [("none", 0, 1), ("blocking-delete", 1, 0)] {
        let service = Service::with(&stores, defect).await;
        let favourite = service.get("/favourites/7").await;
        assert_eq!(favourite.status, 200, "{favourite:?}");
        stores.redis.command::<()>(&["CONFIG", "RESETSTAT"]).await;
        assert_eq!(service.post("/favourites").await.status, 202);
        wait("there is a new set", async || stores.redis_calls("rename").await == 1).await;
        let calls = (stores.redis_calls("del").await, stores.redis_calls("unlink").await);
        assert_eq!(calls, (deleted, unlinked), "{defect}");
        assert_eq!(stores.redis.command::<u32>(&["ZCARD", "favourites"]).await, FAVOURITES, "{defect}");
        assert_eq!(service.get("/favourites/7").await.body, favourite.body, "{defect}");
        assert_eq!(service.get(&format!("/favourites/{FAVOURITES}")).await.status, 404, "{defect}");
    }
}
