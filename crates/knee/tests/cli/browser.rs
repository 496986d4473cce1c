//! A browser that a test drives: Chromium over its own protocol, by pipe.
//!
//! Knows a handful of commands. Judges no page.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How often a page is asked, and how many times at most: a minute in all.
const PACE: Duration = Duration::from_millis(100);
const TRIES: u32 = 600;

/// A browser with one page, which ends with the test.
pub struct Browser {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    profile: TempDir,
}

impl Browser {
    /// A browser with an empty page.
    pub fn start() -> Self {
        Self::with("")
    }

    /// The same that reaches every address through this proxy.
    pub fn behind(proxy: SocketAddr) -> Self {
        // Without the exception that browsers make for this machine.
        Self::with(&format!("--proxy-server={proxy} --proxy-bypass-list='<-loopback>'"))
    }

    fn with(flags: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // It takes orders at descriptor 3 and answers at 4.
        let line = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --remote-debugging-pipe {flags} \
             --user-data-dir=\"$0\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"
        );
        let mut child = Command::new("sh")
            .args(["-c", &line])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut browser = Self { child, orders, answers, session: None, sent: 0, profile };
        let page = browser.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let to = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", &to)["sessionId"].as_str().unwrap().to_owned();
        browser.session = Some(session);
        browser
    }

    /// Goes to a URL.
    pub fn open(&mut self, url: &str) {
        self.ask("Page.navigate", &json!({ "url": url }));
    }

    /// Stops everything on the page, as a browser does with a tab that was not looked at for long.
    pub fn freeze(&mut self) {
        self.ask("Page.setWebLifecycleState", &json!({ "state": "frozen" }));
    }

    /// The page is looked at again.
    pub fn wake(&mut self) {
        self.ask("Page.setWebLifecycleState", &json!({ "state": "active" }));
    }

    /// What an expression is on the page, or what its promise brings; null while one page gives way to the next.
    pub fn read(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.ask("Runtime.evaluate", &asked)["result"]["value"].take()
    }

    /// Waits until the page contains these words.
    pub fn sees(&mut self, words: &str) {
        self.finds(&format!("document.body?.innerText.includes({})", json!(words)));
    }

    /// Waits until an expression is true on the page.
    pub fn finds(&mut self, holds: &str) {
        for _ in 0..TRIES {
            if self.read(holds) == true {
                return;
            }
            std::thread::sleep(PACE);
        }
        let shown = self.read("location.href + '\\n' + document.body?.innerText");
        panic!("never on the page: {holds}: {}", shown.as_str().unwrap_or_default());
    }

    /// Writes into a field.
    pub fn fill(&mut self, selector: &str, text: &str) {
        self.read(&format!("document.querySelector({}).value = {}", json!(selector), json!(text)));
    }

    /// Presses a button or follows a link.
    pub fn press(&mut self, selector: &str) {
        self.read(&format!("document.querySelector({}).click()", json!(selector)));
    }

    /// Sends one command and waits for its answer. Events between them are dropped.
    fn ask(&mut self, method: &str, with: &Value) -> Value {
        self.sent += 1;
        let mut order = json!({ "id": self.sent, "method": method, "params": with });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&order).unwrap();
        bytes.push(0);
        self.orders.write_all(&bytes).unwrap();
        loop {
            let mut answer = Vec::new();
            self.answers.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "the browser has ended; its profile was {:?}", self.profile);
            let mut answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.sent {
                return answer["result"].take();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
