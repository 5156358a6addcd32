//! A home in a directory, served by the real program, with replicas of it. Must not know what happens to them.

use crate::device::Device;
use crate::process::{Process, command, stdout};

/// Keys without windows, for what is not about them.
pub const UNLIMITED: [&str; 2] = ["--rate-limits", "off"];

/// A home in a directory, with a key to its empty live side.
pub struct Home {
    dir: tempfile::TempDir,
    /// The key.
    pub key: String,
    address: Option<String>,
}

impl Default for Home {
    fn default() -> Home {
        Home::new()
    }
}

impl Home {
    /// Makes it; nothing is served yet.
    pub fn new() -> Home {
        let dir = tempfile::tempdir().expect("a directory");
        let data = dir.path().join("server");
        let data = data.to_str().expect("a path of text");
        stdout("hearth-server", &["--data", data, "team", "create", "Hill house"]);
        let key = ["--data", data, "key", "create", "--team", "Hill house", "--env", "live", "--quiet"];
        Home { key: stdout("hearth-server", &key), dir, address: None }
    }

    /// A path in its directory. The server's data are in `server`.
    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("a path of text").to_owned()
    }

    /// What a command of its server says; it must succeed.
    pub fn said(&self, arguments: &[&str]) -> String {
        stdout("hearth-server", &[&["--data", &self.path("server")], arguments].concat())
    }

    /// A tool of the test bench, on its live side.
    pub fn lab(&self, arguments: &[&str]) {
        self.said(&[&["lab"], arguments, &["--env", "live", "--live"]].concat());
    }

    /// A further key to its live side.
    pub fn new_key(&self, name: &str, scopes: &str) -> String {
        let wish = ["key", "create", "--team", "Hill house", "--env", "live", "--quiet"];
        self.said(&[&wish[..], &["--name", name, "--scopes", scopes]].concat())
    }

    /// Serves with these options; from the second time on where it was served before. Gives the base address too.
    pub fn serve(&mut self, with: &[&str]) -> (Process, String) {
        let data = self.path("server");
        let listen = self.address.clone().unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let (process, url) = Process::serve(&[&["--data", &data, "serve", "--listen", &listen], with].concat());
        self.address = url.strip_prefix("http://").map(str::to_owned);
        (process, url)
    }

    /// A new replica of the served home, which nothing syncs yet: its database.
    pub fn replica(&self, name: &str) -> String {
        let db = self.path(name);
        let url = format!("http://{}", self.address.as_deref().expect("a home that was served"));
        let init = command("hearth-replica", &["--db", &db, "init", "--server", &url])
            .env("HEARTH_API_KEY", &self.key)
            .output()
            .expect("hearth-replica runs");
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        db
    }

    /// The same, with its command line and its tables.
    pub fn device(&self, name: &str) -> Device {
        Device { db: self.replica(name) }
    }
}
