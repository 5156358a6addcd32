//! A home in a temporary directory, with its server program and its replicas. Must not know the test.

use std::process::Output;
use std::sync::OnceLock;

use crate::client::Client;
use crate::device::Device;
use crate::process::{Process, command, run, stdout};

/// Options of `serve` that switch rate limits off.
pub const UNLIMITED: [&str; 2] = ["--rate-limits", "off"];

/// A home with a team "Hill house" and one API key with every scope.
pub struct Home {
    dir: tempfile::TempDir,
    /// The API key: to the live home after `new`, to the sandbox after `with_sandbox_key`.
    pub key: String,
    /// Host and port of the first `serve`; later ones listen there again.
    address: OnceLock<String>,
}

impl Default for Home {
    fn default() -> Home {
        Home::new()
    }
}

impl Home {
    /// Creates the data directory and a key to the empty live home. Starts no server.
    pub fn new() -> Home {
        Home::with_key_to("live")
    }

    /// Creates the data directory and a key to the filled sandbox. Starts no server.
    pub fn with_sandbox_key() -> Home {
        let home = Home::with_key_to("test");
        home.stdout(&["sandbox", "reset", "--team", "Hill house"]);
        home
    }

    fn with_key_to(environment: &str) -> Home {
        let dir = tempfile::tempdir().expect("a directory");
        let mut home = Home { dir, key: String::new(), address: OnceLock::new() };
        home.stdout(&["team", "create", "Hill house"]);
        home.key = home.stdout(&["key", "create", "--team", "Hill house", "--env", environment, "--quiet"]);
        home
    }

    /// A path in the temporary directory.
    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("a UTF-8 path").to_owned()
    }

    /// The data directory of the server: `server` in the temporary directory.
    pub fn data(&self) -> String {
        self.path("server")
    }

    /// Runs a command of `hearth-server` on the data directory.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run("hearth-server", &[&["--data", &self.data()], arguments].concat())
    }

    /// Runs a command of `hearth-server` that must succeed. Returns stdout.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        stdout("hearth-server", &[&["--data", &self.data()], arguments].concat())
    }

    /// Runs a `lab` command on the live home.
    pub fn run_lab(&self, arguments: &[&str]) {
        self.stdout(&[&["lab"], arguments, &["--env", "live", "--live"]].concat());
    }

    /// Creates another API key to the live home.
    pub fn create_key(&self, name: &str, scopes: &str) -> String {
        let create = ["key", "create", "--team", "Hill house", "--env", "live", "--quiet"];
        self.stdout(&[&create[..], &["--name", name, "--scopes", scopes]].concat())
    }

    /// Starts the server with these options, and a client with the key. Each start listens on the same port.
    pub fn serve(&self, options: &[&str]) -> (Process, Client) {
        let data = self.data();
        let listen = self.address.get().map_or("127.0.0.1:0", String::as_str);
        let (process, url) = Process::serve(&[&["--data", &data, "serve", "--listen", listen], options].concat());
        self.address.get_or_init(|| url.trim_start_matches("http://").to_owned());
        (process, Client::new(&url, &self.key))
    }

    /// The address of the served home.
    ///
    /// # Panics
    /// When the home was never served.
    pub fn url(&self) -> String {
        format!("http://{}", self.address.get().expect("a home that was served"))
    }

    /// Sets up a replica of the served home, which no daemon syncs yet. Returns the path of the database.
    pub fn create_replica(&self, name: &str) -> String {
        self.create_replica_with_key(name, &self.key)
    }

    /// Sets up a replica as [`Home::create_replica`] does, with this API key.
    pub fn create_replica_with_key(&self, name: &str, key: &str) -> String {
        let db = self.path(name);
        let init = command("hearth-replica", &["--db", &db, "init", "--server", &self.url()])
            .env("HEARTH_API_KEY", key)
            .output()
            .expect("hearth-replica runs");
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        db
    }

    /// Sets up a replica of the served home, with access to its commands and tables.
    pub fn create_device(&self, name: &str) -> Device {
        Device { db: self.create_replica(name) }
    }

    /// A replica as [`Home::create_device`] makes it, synced once.
    pub fn synced_device(&self, name: &str) -> Device {
        let device = self.create_device(name);
        assert_eq!(device.sync(), 0, "{name} is synced");
        device
    }

    /// Writes a file beside the replicas. Gives its path.
    pub fn write_file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        path
    }
}
