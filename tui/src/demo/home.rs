//! The server, the home and the devices of the demo, in a temporary directory. Must not make edits.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use hearth_contract::key::Environment;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_replica::ConflictPolicy;
use hearth_replica::sync::{SyncConfig, SyncLock, Until};
use hearth_replica::{Origin, Phase, Replica, Row, RowQuery, Sort, notification};
use hearth_server::Running;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate::{self, NewKey};
use hearth_server::store::homes;
use hearth_server::store::records::{self, Bounds, Direction};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// The longest wait for a condition.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A running server with one home.
pub(super) struct DemoHome {
    directory: TempDir,
    server: Option<Running>,
    address: SocketAddr,
    key: String,
}

/// A replica with a task that syncs the replica.
pub(super) struct Device {
    pub(super) replica: Replica,
    changed: std::sync::Arc<Notify>,
    _subscription: notification::Subscription,
    _stop: watch::Sender<bool>,
    syncing: JoinHandle<Result<(), hearth_replica::sync::SyncError>>,
}

impl DemoHome {
    /// Starts a server on a free port, with a sandbox home and an API key.
    pub(super) async fn start() -> anyhow::Result<DemoHome> {
        let directory = tempfile::Builder::new().prefix("hearth-demo-").tempdir()?;
        let server = serve(directory.path(), SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let team = operate::teams(&server.app.db).await?.first().context("a first start makes a team")?.id.clone();
        let new_key = NewKey {
            team,
            environment: Environment::Test,
            scopes: Vec::new(),
            name: Some("demo".to_owned()),
            allowlist: Vec::new(),
            pinned: None,
            expires_at: None,
        };
        let key = operate::create_key(&server.app.db, &Clock::system(), new_key).await?.secret;
        Ok(DemoHome { directory, address: server.address, server: Some(server), key })
    }

    /// The address of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The directory of the demo, which is deleted at its end.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The database of the first device.
    pub(super) fn db(&self) -> PathBuf {
        self.directory.path().join("replica.db")
    }

    /// The sync configuration of the first device.
    pub(super) fn sync_config(&self) -> SyncConfig {
        self.sync_config_for(self.db())
    }

    fn sync_config_for(&self, db: PathBuf) -> SyncConfig {
        SyncConfig {
            db,
            server: self.url(),
            key: self.key.clone().into(),
            key_file: None,
            profile: None,
            conflict_policy: ConflictPolicy::Ask,
        }
    }

    /// Starts a second device of the same home and waits until the device is live.
    pub(super) async fn start_second_device(&self) -> anyhow::Result<Device> {
        let device = Device::start(self.sync_config_for(self.directory.path().join("phone.db")))?;
        device.wait_for("the second device is in step", |replica| Ok(replica.status()?.phase == Phase::Live)).await?;
        Ok(device)
    }

    /// Stops the server. The devices go offline.
    pub(super) async fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Starts the server again at the same address.
    pub(super) async fn restart_server(&mut self) -> anyhow::Result<()> {
        self.server = Some(serve(self.directory.path(), self.address).await?);
        Ok(())
    }

    /// Stops the server and deletes the directory.
    pub(super) async fn shut_down(mut self) {
        self.stop_server().await;
    }

    /// Every record on the server, by id.
    pub(super) async fn server_records(&self) -> anyhow::Result<BTreeMap<String, Record>> {
        let server = self.server.as_ref().context("the server is away")?;
        let team = operate::teams(&server.app.db).await?.first().context("the team is there")?.id.clone();
        let read = server.app.db.read(move |tx| {
            let home = homes::home_of_team(tx, &team, Environment::Test)?.number;
            let mut records = Vec::new();
            for kind in Kind::ALL {
                let order = (records::Sort::Created, Direction::Ascending);
                let all = records::page(tx, home, kind, order, Bounds::default(), usize::MAX >> 1)?;
                records.extend(all.into_iter().map(|(_, json)| (kind, json)));
            }
            Ok(records)
        });
        let stored = read.await?;
        let records = stored.iter().filter_map(|(kind, json)| Record::from_json(*kind, json));
        Ok(records.map(|record| (record.id.to_string(), record)).collect())
    }
}

async fn serve(directory: &Path, listen: SocketAddr) -> anyhow::Result<Running> {
    let config = Config { listen, rate_limits: None, ..Config::new(directory.join("server")) };
    Ok(hearth_server::start(config, Clock::system()).await?)
}

impl Device {
    /// Opens a replica and syncs it until the device is dropped.
    pub(super) fn start(config: SyncConfig) -> anyhow::Result<Device> {
        let replica = Replica::open(&config.db, Origin::Tui)?;
        let changed = std::sync::Arc::new(Notify::new());
        let notify = changed.clone();
        let subscription = notification::subscribe(&config.db, move || notify.notify_one())?;
        let lock = SyncLock::try_take(&config.db)?.context("nobody else syncs the demo's replica")?;
        let (stop, stopping) = watch::channel(false);
        let syncing = tokio::spawn(hearth_replica::sync::run(config, lock, Until::Stopped, stopping));
        Ok(Device { replica, changed, _subscription: subscription, _stop: stop, syncing })
    }

    /// Waits until `is_so` holds, and checks after each change of the database. `what` names the condition in an error.
    pub(super) async fn wait_for(
        &self,
        what: &str,
        is_so: impl Fn(&Replica) -> Result<bool, hearth_replica::StoreError>,
    ) -> anyhow::Result<()> {
        let looking = async {
            while !is_so(&self.replica)? {
                ensure!(!self.syncing.is_finished(), "syncing ended while waiting until {what}");
                self.changed.notified().await;
            }
            Ok(())
        };
        tokio::time::timeout(WAIT_MAX, looking).await.with_context(|| format!("waited {WAIT_MAX:?} until {what}"))?
    }

    /// Every record in the replica, by id.
    pub(super) fn records(&self) -> anyhow::Result<BTreeMap<String, Row>> {
        let mut rows = BTreeMap::new();
        for kind in Kind::ALL {
            let sort = Sort { column: "created_at", descending: false };
            let query = RowQuery::all(kind, sort, usize::MAX >> 1);
            rows.extend(self.replica.rows(&query)?.rows.into_iter().map(|row| (row.id.clone(), row)));
        }
        Ok(rows)
    }
}
