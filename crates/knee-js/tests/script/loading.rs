//! Scripts of several files: what imports mean, what TypeScript becomes, and what is said when a module
//! cannot be had.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use knee_js::loader::remote::{Fetch, RemoteSettings};
use knee_js::program::files::{Reach, Script};
use knee_js::program::{Limits, Surroundings};
use knee_js::session::{Session, SessionError};
use url::Url;

use super::harness::run_script;

/// Files in a folder that goes away.
pub struct Suite {
    folder: tempfile::TempDir,
    remote: RemoteSettings,
    reach: Reach,
}

/// What came of loading a script.
pub struct Loaded {
    /// What was wrong; empty if nothing was.
    pub refused: String,
    /// What to do about it.
    pub hint: String,
    /// What it wrote.
    pub lines: Vec<String>,
    /// What was said about how it was loaded.
    pub notes: Vec<String>,
}

impl Suite {
    /// Files by name and text.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { folder, remote: RemoteSettings::default(), reach: Reach::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Loads one of them.
    pub fn load(&self, name: &str) -> Loaded {
        self.load_script(Script::File(self.path(name)))
    }

    fn load_script(&self, script: Script) -> Loaded {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = lines.clone();
        let surroundings = Surroundings {
            console: None,
            environment: Vec::new(),
            reach: self.reach.clone(),
            limits: Limits::default(),
            narrator: Arc::new(move |line| told.lock().unwrap().push(line.message.to_owned())),
            remote: self.remote.clone(),
            secrets: Arc::default(),
        };
        let mut loaded =
            Loaded { refused: String::new(), hint: String::new(), lines: Vec::new(), notes: Vec::new() };
        match Session::load(script, surroundings) {
            Ok(session) => loaded.notes = session.program.notes(),
            Err(SessionError::Module(trouble)) => {
                loaded.refused = trouble.what;
                loaded.hint = trouble.hint;
            }
            Err(error) => loaded.refused = error.to_string(),
        }
        loaded.lines = lines.lock().unwrap().clone();
        loaded
    }
}

const DEFAULT: &str = "export default function () {}\n";

fn with_default(text: &str) -> String {
    format!("{text}\n{DEFAULT}")
}

#[test]
fn imports_of_every_form_bring_what_they_name() {
    let main = with_default(
        "import def, { a, b as c } from './lib/m.js';\nimport * as all from './lib/m.js';\n\
         import { a as again } from './lib/index.js';\nimport data from './lib/data.json';\n\
         import './lib/effect.js';\n\
         console.log(def, a, c, Object.keys(all).join(), again, data.__proto__.x, globalThis.effect);",
    );
    let suite = Suite::of(&[
        ("s.js", &main),
        ("lib/m.js", "export const a = 1; export const b = 2; export default 'd';"),
        ("lib/index.js", "export * from './m.js'; export { default } from './m.js';"),
        ("lib/data.json", r#"{"__proto__": {"x": "own"}}"#),
        ("lib/effect.js", "globalThis.effect = 'ran';"),
    ]);
    let loaded = suite.load("s.js");
    assert_eq!((loaded.refused.as_str(), loaded.lines.join(" ")), ("", "d 1 2 a,b,default 1 own ran".into()));
}

#[test]
fn modules_that_import_each_other_work() {
    let suite = Suite::of(&[
        ("s.js", &with_default("import { even } from './a.js'; console.log(even(10), even(7));")),
        ("a.js", "import { odd } from './b.js'; export const even = (n) => n === 0 || odd(n - 1);"),
        ("b.js", "import { even } from './a.js'; export const odd = (n) => n !== 0 && even(n - 1);"),
    ]);
    assert_eq!(suite.load("s.js").lines, ["true false"]);
}

#[test]
fn a_module_has_one_instance_however_it_is_named() {
    let suite = Suite::of(&[
        ("s.js", "import './a.js';\nimport './lib/../a.js';\nimport './lib/b.js';\nexport default () => {};"),
        ("a.js", "console.log('once');"),
        ("lib/b.js", "import '../a.js';"),
    ]);
    let loaded = suite.load("s.js");
    assert_eq!((loaded.refused.as_str(), loaded.lines.concat()), ("", "once".into()));
}

#[test]
fn import_meta_resolves_and_has_no_url_as_in_k6() {
    let suite = Suite::of(&[(
        "lib/s.js",
        &with_default(
            "console.log(import.meta.url, import.meta.resolve('../x.js'), import.meta.resolve('https://h/y.js'));\n\
             try { import.meta.resolve('lodash'); } catch (error) { console.log(error.message); }",
        ),
    )]);
    let loaded = suite.load("lib/s.js");
    let expected = format!("undefined file://{} https://h/y.js", suite.path("x.js").display());
    assert_eq!(loaded.lines[0], expected, "{}", loaded.refused);
    assert!(loaded.lines[1].contains("couldn't be recognised"), "{}", loaded.lines[1]);
}

#[test]
fn a_script_from_standard_input_begins_in_the_given_folder() {
    let suite = Suite::of(&[("lib/a.js", "export const a = 1;"), ("data.txt", "text")]);
    let source = with_default("import { a } from './lib/a.js'; console.log(a, open('data.txt'));");
    let script = Script::Text { folder: suite.path(""), source: source.into_bytes() };
    let loaded = suite.load_script(script);
    assert_eq!((loaded.refused.as_str(), loaded.lines.concat()), ("", "1 text".into()));
}

#[test]
fn typescript_runs_with_everything_that_leaves_code_behind() {
    let suite = Suite::of(&[
        (
            "s.ts",
            "import { Options } from 'k6/options';\nimport type { T } from './types.ts';\n\
             import { v, type U } from './lib/values.ts';\nimport js from './plain.js';\n\
             enum Color { Red, Green = 'g', Blue = Red + 5 }\nconst enum Fast { One = 1 }\n\
             namespace Geometry { export const side = 3; export function area(): number { return side * side; } }\n\
             class Point { constructor(private readonly x: number, public y = 2) {} sum(): number { return this.x + this.y; } }\n\
             export const options: Options = { vus: 1 };\nconst t = { a: 1 } satisfies T;\n\
             const generic = <A,>(a: A): A => a;\nlet u: U = v!;\n\
             console.log(Color.Red, Color[0], Color.Green, Color.Blue, Fast.One, Geometry.area(), new Point(1).sum(), t.a, generic(4), u, js);\n\
             export default function (): void {}\n",
        ),
        ("types.ts", "export interface T { a: number }\n"),
        ("lib/values.ts", "export type U = number;\nexport const v: U | undefined = 7;\n"),
        ("plain.js", "export default 'js';"),
    ]);
    let loaded = suite.load("s.ts");
    assert_eq!((loaded.refused.as_str(), loaded.lines.concat()), ("", "0 Red g 5 1 9 3 1 4 7 js".into()));
}

#[test]
fn mistakes_in_a_source_have_file_line_and_column() {
    let suite = Suite::of(&[
        ("a.ts", "const a: number = 1;\n\nlet b: string = ;\nexport default () => {};"),
        ("imports.js", "import './lib/b.js';\nexport default () => {};"),
        ("lib/b.js", "export const ok = 1;\nexport const b = = 2;\n"),
        ("json.js", "import x from './x.json';\nexport default () => {};"),
        ("x.json", "{\n  \"a\": 1,\n}"),
    ]);
    let table = [("a.ts", "a.ts:3:17"), ("imports.js", "lib/b.js:2:18"), ("json.js", "x.json:3:1")];
    for (script, place) in table {
        let loaded = suite.load(script);
        assert!(loaded.refused.contains(place), "{script}: {}", loaded.refused);
        assert!(loaded.refused.contains("SyntaxError"), "{script}: {}", loaded.refused);
    }
}

#[test]
fn what_typescript_throws_has_the_place_the_user_wrote() {
    let suite = Suite::of(&[
        (
            "s.ts",
            "import { fail } from './lib.ts';\ninterface A {\n  x: number;\n}\nenum E {\n  A,\n}\n\
             export default function (): void {\n  const a: A = { x: E.A };\n  console.log(new Error('seen').stack);\n  fail(a.x);\n}\n",
        ),
        (
            "lib.ts",
            "type N = number;\n\nexport function fail(n: N): never {\n  throw new Error(`bad ${n}`);\n}\n",
        ),
    ]);
    let outcome = run_script(&suite.path("s.ts"), Limits::default());
    let said = outcome.lines.join("\n");
    assert!(said.contains("Error: bad 0"), "{said} {:?}", outcome.refused);
    assert!(said.contains("lib.ts:4:") && said.contains("s.ts:11:"), "{said}");
    assert!(said.contains("s.ts:10:"), "a script that looks at a stack sees its own lines: {said}");
}

#[test]
fn modules_that_cannot_be_had_say_why_and_what_to_do() {
    let cases = [
        ("import 'lodash';", "The moduleSpecifier \"lodash\" couldn't be recognised", "./ or ../"),
        ("import './lib/m';", "couldn't be found on local disk", "add the ending to the name"),
        ("import './nowhere.js';", "couldn't be found on local disk", "check the path"),
        ("import './lib';", "is a folder", "index.js"),
        (
            "import 'http://127.0.0.1/x.js';",
            "only supported schemes for imports are file and https",
            "https://",
        ),
        ("import 'k6/browser';", "k6/browser is not supported", "scenarios"),
        ("import 'k6/x/sql';", "k6/x/sql is not supported: knee has no k6 extensions", "remove the import"),
        (
            "import 'k6/experimental/tracing';",
            "k6/experimental/tracing is not supported yet",
            "remove the import",
        ),
        ("import 'k6/htpp';", "k6/htpp is not a k6 module", "check the name"),
        ("import '/etc/hostname';", "is outside of the folders that the script can read", ""),
        (
            "import { nothere } from './lib/m.js';",
            "/lib/m.js\" does not provide an export named \"nothere\"",
            "braces",
        ),
        (
            "import { nothere } from './lib/a_module_with_a_rather_long_name_of_the_same_kind.js';",
            "_of_the_same_kind.js\" does not provide an export named \"nothere\"",
            "braces",
        ),
        ("import http from 'k6/http'; exports.a = 1;", "`exports` is not defined", "not both"),
    ];
    for (source, says, hint) in cases {
        let suite = Suite::of(&[
            ("s.js", &with_default(source)),
            ("lib/m.js", "export const a = 1;"),
            ("lib/a_module_with_a_rather_long_name_of_the_same_kind.js", "export const a = 1;"),
        ]);
        let loaded = suite.load("s.js");
        assert!(loaded.refused.contains(says), "{source}: {:?}", loaded.refused);
        assert!(loaded.hint.contains(hint), "{source}: {:?}", loaded.hint);
    }
}

#[test]
fn files_of_the_older_kind_are_required_and_imported() {
    let suite = Suite::of(&[
        (
            "s.js",
            "const lib = require('./lib.js'); const { check } = require('k6'); exports.default = function () {};\n\
             console.log(lib(1), lib.two, typeof check, require('./lib.js') === lib, typeof require('k6/http').get);",
        ),
        (
            "lib.js",
            "#!/usr/bin/env k6\nmodule.exports = function (a) { return a + 1; }; module.exports.two = 2;",
        ),
        (
            "m.js",
            &with_default(
                "import lib, { two } from './lib.js'; import * as umd from './umd.js'; import e from './e.js';\n\
             console.log(lib(1), two, typeof umd.md5, umd.self, e, require('./m2.js').b);",
            ),
        ),
        ("m2.js", "export const b = 'b';"),
        (
            "e.js",
            "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'its own';",
        ),
        (
            "umd.js",
            "(function (root, make) { if (typeof module === 'object' && module.exports) module.exports = make(require('k6/crypto'), root); })\n\
             (this, function (c, root) { return { md5: c.md5, self: typeof root }; });",
        ),
        ("circle.js", &with_default("import a from './a.js'; console.log(a.early, a.seen);")),
        ("a.js", "exports.early = 1; exports.seen = require('./b.js').seen;"),
        ("b.js", "exports.seen = Object.keys(require('./a.js')).join();"),
        ("broken.js", "\n\nrequire('./wrong.js');"),
        ("wrong.js", "exports.a = 1;\n  throw new Error('here');"),
        ("lost.js", "require('./nowhere.js');"),
    ]);
    assert_eq!(suite.load("s.js").lines, ["2 2 function true function"]);
    assert_eq!(suite.load("m.js").lines, ["2 2 function object its own b"]);
    assert_eq!(suite.load("circle.js").lines, ["1 early"]);
    let broken = suite.load("broken.js").refused;
    assert!(broken.contains("Error: here") && broken.contains("/wrong.js:2:"), "{broken}");
    assert!(broken.contains("/broken.js:3:"), "{broken}");
    assert!(suite.load("lost.js").refused.contains("nowhere.js"), "{}", suite.load("lost.js").refused);
}

#[test]
fn scripts_import_from_above_their_folder_and_open_does_not() {
    let suite = Suite::of(&[
        ("suite/tests/s.js", &with_default("import { a } from '../lib/a.js'; console.log(a);")),
        ("suite/lib/a.js", "export const a = 1;"),
        ("suite/tests/o.js", &with_default("console.log(open('../secret.txt'));")),
        ("suite/secret.txt", "secret"),
    ]);
    assert_eq!(suite.load("suite/tests/s.js").lines, ["1"]);
    let loaded = suite.load("suite/tests/o.js");
    assert!(loaded.refused.contains("--allow-read"), "{}", loaded.refused);
    let allowed = Suite { reach: Reach { also: vec![suite.path("suite")], ..Reach::default() }, ..suite };
    assert_eq!(allowed.load("suite/tests/o.js").lines, ["secret"]);
}

#[test]
fn a_root_takes_the_place_of_the_scripts_folder() {
    let suite = Suite::of(&[
        ("suite/tests/own.js", &with_default("console.log(open('./beside.txt'));")),
        ("suite/tests/beside.txt", "beside"),
        ("suite/tests/data.js", &with_default("console.log(open('../data/d.txt'));")),
        ("suite/data/d.txt", "data"),
    ]);
    let reach = Reach { root: Some(suite.path("suite/data")), ..Reach::default() };
    let narrow = Suite { reach, ..suite };
    assert_eq!(narrow.load("suite/tests/data.js").lines, ["data"]);
    let refused = narrow.load("suite/tests/own.js").refused;
    assert!(refused.contains("outside of the folders"), "{refused}");
}

#[test]
fn a_module_opens_up_what_its_own_place_does() {
    let suite = Suite::of(&[
        ("suite/tests/deep/s.js", &with_default("import { d } from '../../lib/m.js'; console.log(d);")),
        ("suite/lib/m.js", "export const d = open('../data/d.txt');"),
        ("suite/data/d.txt", "data"),
    ]);
    let above = |file: &Path| Some(file.parent()?.parent()?.to_owned());
    let open = Suite { reach: Reach { by_file: Some(above), ..Reach::default() }, ..suite };
    assert_eq!(open.load("suite/tests/deep/s.js").lines, ["data"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_judged_by_where_it_leads() {
    let suite = Suite::of(&[
        ("in/s.js", &with_default("console.log(open('./link.txt'));")),
        ("in/m.js", &with_default("import './link.js';")),
        ("out/secret.txt", "secret"),
    ]);
    std::os::unix::fs::symlink("../out/secret.txt", suite.path("in/link.txt")).unwrap();
    std::os::unix::fs::symlink("../out/secret.txt", suite.path("in/link.js")).unwrap();
    for script in ["in/s.js", "in/m.js"] {
        let loaded = suite.load(script);
        assert!(
            loaded.refused.contains("outside of the folders that the script can read"),
            "{}",
            loaded.refused
        );
    }
}

/// Two modules on a network that is not there.
struct Net;

impl Fetch for Net {
    fn fetch(&self, url: &Url) -> Result<Vec<u8>, String> {
        match url.as_str() {
            "https://host/lib/a.js" => Ok(b"import { b } from './b.ts'; export const a = b + 1;".to_vec()),
            "https://host/lib/b.ts" => Ok(b"export const b: number = 1;".to_vec()),
            "https://host/evil.js" => Ok(b"import 'file:///etc/passwd';".to_vec()),
            _ => Err("status 404".to_owned()),
        }
    }
}

#[test]
fn modules_from_the_network_import_their_neighbours_and_no_files() {
    let mut suite = Suite::of(&[
        ("s.js", &with_default("import { a } from 'https://host/lib/a.js'; console.log(a);")),
        ("evil.js", &with_default("import 'https://host/evil.js';")),
        ("gone.js", &with_default("import 'https://host/gone.js';")),
    ]);
    suite.remote.fetch = Some(Arc::new(Net));
    std::fs::write(suite.path("knee.lock"), "").unwrap();
    let loaded = suite.load("s.js");
    assert_eq!((loaded.refused.as_str(), loaded.lines.concat()), ("", "2".into()));
    assert!(loaded.notes[0].contains("knee.lock"), "{:?}", loaded.notes);
    let lock = std::fs::read_to_string(suite.path("knee.lock")).unwrap();
    assert!(lock.contains("https://host/lib/a.js sha256:") && lock.contains("https://host/lib/b.ts sha256:"));
    assert!(suite.load("evil.js").refused.contains("not allowed to load local file"));
    assert!(suite.load("gone.js").refused.contains("cannot be fetched: status 404"));
}
