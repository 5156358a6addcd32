//! The demo's home, its server and its devices, in a directory that goes with it. Must not know what happens there.

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
use hearth_replica::{Origin, Phase, Replica, Row, RowQuery, Sort, bell};
use hearth_server::Running;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate::{self, NewKey};
use hearth_server::store::homes;
use hearth_server::store::records::{self, Bounds, Direction};
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Longest wait for something that must come about.
const PATIENCE: Duration = Duration::from_secs(30);

/// A served home and a device of it.
pub(super) struct Household {
    directory: TempDir,
    server: Option<Running>,
    address: SocketAddr,
    key: String,
}

/// A replica that is kept in step by a task of its own.
pub(super) struct Device {
    pub(super) replica: Replica,
    changed: std::sync::Arc<Notify>,
    _bell: bell::BellWatch,
    _stop: watch::Sender<bool>,
    syncing: JoinHandle<Result<(), hearth_replica::sync::SyncError>>,
}

impl Household {
    /// A server on a free port, with a sandbox home and a key to it.
    pub(super) async fn move_in() -> anyhow::Result<Household> {
        let directory = tempfile::Builder::new().prefix("hearth-demo-").tempdir()?;
        let server = serve(directory.path(), SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let team = operate::teams(&server.app.db).await?.first().context("a first start makes a team")?.id.clone();
        let wish = NewKey {
            team,
            environment: Environment::Test,
            scopes: Vec::new(),
            name: Some("demo".to_owned()),
            allowlist: Vec::new(),
            pinned: None,
            expires_at: None,
        };
        let key = operate::create_key(&server.app.db, &Clock::system(), wish).await?.secret;
        Ok(Household { directory, address: server.address, server: Some(server), key })
    }

    /// Where it is served.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The database of its first device.
    pub(super) fn db(&self) -> PathBuf {
        self.directory.path().join("replica.db")
    }

    /// How its first device is synced.
    pub(super) fn sync(&self) -> SyncConfig {
        self.sync_of(self.db())
    }

    fn sync_of(&self, db: PathBuf) -> SyncConfig {
        SyncConfig {
            db,
            server: self.url(),
            key: self.key.clone().into(),
            key_file: None,
            profile: None,
            conflict_policy: ConflictPolicy::Ask,
        }
    }

    /// A second device of the same home, in step.
    pub(super) async fn another_device(&self) -> anyhow::Result<Device> {
        let device = Device::start(self.sync_of(self.directory.path().join("phone.db")))?;
        device.wait_for("the second device is in step", |replica| Ok(replica.status()?.phase == Phase::Live)).await?;
        Ok(device)
    }

    /// Takes the server away.
    pub(super) async fn unplug(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// Brings the server back where it was.
    pub(super) async fn plug_in(&mut self) -> anyhow::Result<()> {
        self.server = Some(serve(self.directory.path(), self.address).await?);
        Ok(())
    }

    /// Stops everything; the directory goes.
    pub(super) async fn move_out(mut self) {
        self.unplug().await;
    }

    /// Every record as the server has it, by id.
    pub(super) async fn server_records(&self) -> anyhow::Result<BTreeMap<String, Record>> {
        let server = self.server.as_ref().context("the server is away")?;
        let team = operate::teams(&server.app.db).await?.first().context("the team is there")?.id.clone();
        let read = server.app.db.read(move |tx| {
            let home = homes::of_team(tx, &team, Environment::Test)?.number;
            let mut found = Vec::new();
            for kind in Kind::ALL {
                let order = (records::Sort::Created, Direction::Ascending);
                let all = records::page(tx, home, kind, order, Bounds::default(), usize::MAX >> 1)?;
                found.extend(all.into_iter().map(|(_, json)| (kind, json)));
            }
            Ok(found)
        });
        let found = read.await?;
        let records = found.iter().filter_map(|(kind, json)| Record::from_json(*kind, json));
        Ok(records.map(|record| (record.id.to_string(), record)).collect())
    }
}

async fn serve(directory: &Path, listen: SocketAddr) -> anyhow::Result<Running> {
    let config = Config { listen, rate_limits: None, ..Config::new(directory.join("server")) };
    Ok(hearth_server::start(config, Clock::system()).await?)
}

impl Device {
    /// Opens a replica and keeps it in step until dropped.
    pub(super) fn start(config: SyncConfig) -> anyhow::Result<Device> {
        let replica = Replica::open(&config.db, Origin::Tui)?;
        let changed = std::sync::Arc::new(Notify::new());
        let knock = changed.clone();
        let bell = bell::watch(&config.db, move || knock.notify_one())?;
        let lock = SyncLock::try_take(&config.db)?.context("nobody else syncs the demo's replica")?;
        let (stop, stopping) = watch::channel(false);
        let syncing = tokio::spawn(hearth_replica::sync::run(config, lock, Until::Stopped, stopping));
        Ok(Device { replica, changed, _bell: bell, _stop: stop, syncing })
    }

    /// Waits until the replica is as asked, looking whenever its bell rings.
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
        tokio::time::timeout(PATIENCE, looking).await.with_context(|| format!("waited {PATIENCE:?} until {what}"))?
    }

    /// Every record as this device has it, by id.
    pub(super) fn records(&self) -> anyhow::Result<BTreeMap<String, Row>> {
        let mut found = BTreeMap::new();
        for kind in Kind::ALL {
            let sort = Sort { column: "created_at", descending: false };
            let query = RowQuery::all(kind, sort, usize::MAX >> 1);
            found.extend(self.replica.rows(&query)?.rows.into_iter().map(|row| (row.id.clone(), row)));
        }
        Ok(found)
    }
}
