//! Files of `k6/experimental/fs` and rows of `k6/experimental/csv`: what a script can read, and what VUs share.
//!
//! What scripts get is compared with k6 by `cargo xtask compat`.

use std::fmt::Write as _;

use knee_js::program::Limits;

use super::harness::{Outcome, run_against};
use super::server::Server;

/// Runs a script beside a file `rows.csv` with so many rows.
fn run(source: &str, rows: usize, limits: Limits) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, source).unwrap();
    let mut table = "name,number\n".to_owned();
    (0..rows).for_each(|row| writeln!(table, "user-{row},{row}").unwrap());
    std::fs::write(folder.path().join("rows.csv"), table).unwrap();
    run_against(&Server::start(), &script, limits, &[])
}

#[test]
fn a_script_opens_no_file_outside_of_the_folders_that_it_can_read() {
    let source = "
        import { open } from 'k6/experimental/fs';
        const seen = await open('/etc/hostname').catch((error) => `${error.name}: ${error.message}`);
        export default () => console.log(seen);";
    let lines = run(source, 0, Limits::default()).lines;
    assert!(lines[0].starts_with("ForbiddenError: /etc/hostname is outside"), "{lines:?}");
}

#[test]
fn each_virtual_user_has_its_own_place_in_a_file_and_all_share_its_rows() {
    let source = "
        import { check } from 'k6';
        import { open } from 'k6/experimental/fs';
        import { parse, Parser } from 'k6/experimental/csv';
        const all = await parse(await open('rows.csv'), { asObjects: true });
        const parser = new Parser(await open('rows.csv'), { skipFirstLine: true });
        const file = await open('rows.csv');
        export const options = { scenarios: { a: { executor: 'per-vu-iterations', vus: 3, iterations: 4 } } };
        export default async function () {
          const { done, value } = await parser.next();
          const bytes = new Uint8Array(2);
          await file.read(bytes);
          check(null, {
            'the row of this iteration': () => !done && value[0] === `user-${__ITER}`,
            'the bytes of this iteration': () => String.fromCharCode(...bytes) === 'name,number\\n'.substr(2 * __ITER, 2),
            'all rows': () => all.length === 1000 && all[999].number === '999',
          });
        }";
    let outcome = run(source, 1_000, Limits::default());
    assert_eq!(outcome.checks, (36, 0), "{:?} {:?}", outcome.failed, outcome.lines);
}

#[test]
fn a_table_that_exceeds_the_memory_of_shared_arrays_is_an_error_of_the_script() {
    let source = "
        import { open } from 'k6/experimental/fs';
        import csv from 'k6/experimental/csv';
        await csv.parse(await open('rows.csv'));
        export default () => {};";
    let limits = Limits { shared: 10_000, ..Limits::default() };
    let refused = run(source, 1_000, limits).refused.unwrap();
    assert!(refused.contains("out of memory"), "{refused}");
}
