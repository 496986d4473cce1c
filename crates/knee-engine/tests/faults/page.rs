//! The reference page on faults lists every fault.

use knee_core::outcome::Fault;

#[test]
fn the_page_on_faults_lists_every_fault_with_blame_and_meaning() {
    let page = include_str!("../../../../docs/reference/faults.md");
    for fault in Fault::ALL {
        let row = format!("| `{}` | {} | {} |", fault.name(), fault.blame().name(), fault.sentence());
        assert!(page.contains(&row), "the page lacks the row\n{row}");
    }
}
