//! The defects of goods and categories.

use findings::database::Database;
use findings::defect::Defect;
use findings::goods::{BELOW, by_maker};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_index_on_the_json_finds_the_goods_of_a_maker_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let healthy = Service::healthy(&stores).await;
    let arrow = Service::with(&stores, "json-arrow").await;
    let plan = healthy.plan(by_maker(Defect::None), "'maker7'").await;
    assert!(plan.contains("Bitmap Index Scan on goods_data"), "{plan}");
    let plan = arrow.plan(by_maker(Defect::JsonArrow), "'maker7'").await;
    assert!(plan.contains("Seq Scan on goods"), "{plan}");
    let numbers = async |service: &Service<'_>| {
        let goods = service.get("/goods?text=maker7").await.json();
        let mut numbers: Vec<i64> =
            goods.as_array().unwrap().iter().map(|good| good[0].as_i64().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    };
    let expected: Vec<i64> = (0..10).map(|n| 7 + n * 4000).collect();
    assert_eq!((numbers(&healthy).await, numbers(&arrow).await), (expected.clone(), expected));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn postgresql_compiles_the_statement_of_the_categories_only_with_the_defect() {
    let stores = Stores::seeded().await;
    for (defect, name, jit) in [(Defect::None, "none", "off"), (Defect::JitCompile, "jit-compile", "on")] {
        let service = Service::with(&stores, name).await;
        // Ten leaves of four goods each.
        let below = service.get("/categories/112").await.json();
        assert_eq!(below.as_array().unwrap().len(), 10);
        assert_eq!(below[0], serde_json::json!([1112, "Category 1112", 4]));
        // Where compiling is on, the estimated cost is above its limit.
        let plan = service.plan(BELOW, "112").await;
        assert!(plan.contains("JIT:"), "{plan}");
        let database = Database::open(&stores.cluster.url_of(&service.database), defect).unwrap();
        assert_eq!(database.row("SHOW jit", &[]).await.unwrap().get::<_, &str>(0), jit, "{name}");
    }
}
