//! The defects of recipes and passbooks.

use findings::recipes::{ANY, BY_ACCOUNT, BY_CARD, CONTAINS, LINES, TAGGED};

use crate::fixture::Service;
use crate::stores::Stores;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn an_index_finds_the_recipes_of_a_tag_only_without_the_defect() {
    let stores = Stores::seeded().await;
    let (healthy, defect) = (Service::healthy(&stores).await, Service::with(&stores, "any-of-array").await);
    for (sql, is_found) in [(CONTAINS, true), (ANY, false)] {
        let plan = healthy.plan(sql, "'tag7'").await;
        assert_eq!(plan.contains("recipes_tags"), is_found, "{plan}");
    }
    let recipes = healthy.get("/recipes/tag7").await;
    assert_eq!(recipes.json().as_array().unwrap().len(), TAGGED);
    assert_eq!(defect.get("/recipes/tag7").await.body, recipes.body);
    assert_eq!((healthy.logged("= ANY(tags)"), defect.logged("= ANY(tags)")), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_balances_of_all_passbooks_are_computed_for_one_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let (healthy, defect) = (Service::healthy(&stores).await, Service::with(&stores, "window-view").await);
    // A condition that stays outside the view filters what it has computed.
    for (sql, value, is_outside) in [(BY_ACCOUNT, "7", false), (BY_CARD, "'card 7'", true)] {
        let plan = healthy.plan(sql, value).await;
        assert_eq!(plan.contains("Filter: (passbook_lines.card"), is_outside, "{plan}");
    }
    let passbook = healthy.get("/passbooks/7").await;
    let lines = passbook.json();
    assert_eq!(lines.as_array().unwrap().len(), LINES);
    let cents = |line: usize, column: usize| lines[line][column].as_i64().unwrap();
    assert_eq!(cents(1, 2), cents(0, 1) + cents(1, 1));
    assert_eq!(defect.get("/passbooks/7").await.body, passbook.body);
    assert_eq!((healthy.logged("card = $1"), defect.logged("card = $1")), (0, 1));
}
