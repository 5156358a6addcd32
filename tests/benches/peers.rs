//! Other services beside this one, on the same work: as many tasks with the same fields, asked for and written over as
//! many connections by the same client, in turn with ours. Their programs are brought by who measures. Must not know how
//! each is set up.
//!
//! They are taken as they come, which for all of them here means that a write is answered before it is on disk; ours is
//! on disk.

mod pocketbase;
mod trailbase;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hearth_tests::process::{self, Process};
use hearth_tests::wire::Wire;
use serde_json::Value;

use crate::figures::Target;
use crate::load::{self, block_on, quantile};
use crate::reads;
use crate::streams::{self, StreamTarget};
use crate::testbed::{BULK_MAX, Testbed, task};

/// Connections that ask at once, and those that send bulk calls.
const MANY: usize = 32;
const FEW: usize = 2;

/// A service to be measured beside ours: `NAME=PROGRAM`.
#[derive(Clone)]
pub(crate) struct Peer {
    name: &'static str,
    program: PathBuf,
    begin: fn(&Path, &Testbed) -> anyhow::Result<Contender>,
}

impl Peer {
    /// What is said after a figure of ours and of theirs; ours is taken anew beside each.
    fn names(&self) -> [String; 2] {
        [format!(", ours beside {}", self.name), format!(", {}", self.name)]
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Peer, String> {
        let (name, program) = text.split_once('=').ok_or("a peer is given as NAME=PROGRAM")?;
        let (name, begin): (_, fn(&Path, &Testbed) -> anyhow::Result<Contender>) = match name {
            "pocketbase" => ("pocketbase", pocketbase::begin),
            "trailbase" => ("trailbase", trailbase::begin),
            _ => return Err(format!("{name} is not known; there are pocketbase and trailbase")),
        };
        Ok(Peer { name, program: program.into(), begin })
    }
}

/// A service, filled, and the finished requests of the work.
pub(crate) struct Contender {
    /// Its process; ours belongs to the stand.
    process: Option<Process>,
    /// Single records.
    reads: Vec<Vec<u8>>,
    /// The first page of 50, and the one at 80 % depth.
    pages: [Vec<u8>; 2],
    /// A create, and the status of its answer.
    create: (Vec<u8>, u16),
    /// Fifty creates, and the status of their answer.
    bulk: (Vec<u8>, u16),
    target: StreamTarget,
}

impl Contender {
    fn ours(testbed: &Testbed) -> anyhow::Result<Contender> {
        Ok(Contender {
            process: None,
            reads: reads::sample(testbed)?,
            pages: [testbed.get("/v1/tasks?limit=50"), reads::deep(testbed)?],
            create: (testbed.post("/v1/tasks", &task(0).to_string()), 201),
            bulk: (testbed.bulk((0..BULK_MAX).map(task)), 207),
            target: StreamTarget::of(testbed),
        })
    }
}

/// The parts of the work that are counted: what, and the requests with the status of their answers, the connections, and
/// what one answer counts for.
type Part = (&'static str, fn(&Contender) -> (&[Vec<u8>], u16), usize, f64);

const PARTS: [Part; 6] = [
    ("reads", |contender| (&contender.reads, 200), MANY, 1.0),
    ("first pages", |contender| (&contender.pages[..1], 200), MANY, 1.0),
    ("pages at 80 % depth", |contender| (&contender.pages[1..], 200), MANY, 1.0),
    ("creates, 1 connection", |contender| (std::slice::from_ref(&contender.create.0), contender.create.1), 1, 1.0),
    ("creates, 32 connections", |contender| (std::slice::from_ref(&contender.create.0), contender.create.1), MANY, 1.0),
    ("bulk records", |contender| (std::slice::from_ref(&contender.bulk.0), contender.bulk.1), FEW, BULK_MAX as f64),
];

/// Each peer that was brought, in turn with ours.
pub(crate) fn beside(testbed: &mut Testbed) -> anyhow::Result<()> {
    for peer in testbed.peers.clone() {
        eprintln!("filling {}", peer.name);
        let theirs = (peer.begin)(&peer.program, testbed)?;
        let ours = Contender::ours(testbed)?;
        for (what, requests, connections, worth) in PARTS {
            let time = testbed.scale.time;
            let rate = |contender: &Contender| {
                let (requests, status) = requests(contender);
                Ok::<_, anyhow::Error>(
                    load::run(&contender.target.address, connections, time, requests, status)?.rate * worth,
                )
            };
            let [ours_is, theirs_is] = peer.names().map(|of| format!("{what}{of}"));
            testbed
                .compare((&ours_is, &theirs_is), "/s", Target::AtLeast(1.0), |_| Ok((rate(&ours)?, rate(&theirs)?)))?;
        }
        listen(testbed, &peer, &ours, &theirs)?;
    }
    Ok(())
}

/// What a silent stream takes and how soon events arrive. A peer from which events do not come says so.
fn listen(testbed: &mut Testbed, peer: &Peer, ours: &Contender, theirs: &Contender) -> anyhow::Result<()> {
    let (events, many) = (testbed.scale.events.1, testbed.scale.streams);
    let [ours_is, theirs_is] = peer.names();
    let both = [(&ours_is, ours), (&theirs_is, theirs)];
    // First, because what busy streams took is not all given back.
    for (of, contender) in both {
        let process = contender.process.as_ref().map_or(testbed.service().1, Process::id);
        let size = block_on(streams::idle_size(&contender.target, process, many))?;
        testbed.record(format!("each of {many} idle streams{of}"), "KiB", &[size], None);
    }
    for streams in [1, many] {
        for (of, contender) in both {
            match block_on(streams::arrivals(&contender.target, streams, events)) {
                Ok(mut times) => {
                    let what = format!("from a write to {streams} streams{of}");
                    testbed.record(format!("{what}: half within"), "ms", &[quantile(&mut times, 0.5)], None);
                    testbed.record(format!("{what}: 99 % within"), "ms", &[quantile(&mut times, 0.99)], None);
                }
                Err(error) if contender.process.is_some() => eprintln!("{streams} streams{of}: {error}"),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// An address that nobody listens at.
fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Waits until somebody listens there.
fn wait_for(address: &str) {
    process::wait_until("the peer listens", || std::net::TcpStream::connect(address).is_ok());
}

/// A finished request, with a body unless that is empty.
fn request(method: &str, address: &str, target: &str, key: &str, body: &str) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nhost: {address}\r\n");
    if !key.is_empty() {
        text += &format!("authorization: {key}\r\n");
    }
    if !body.is_empty() {
        text += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    (text + "\r\n" + body).into_bytes()
}

/// Asks these in turn over one connection; each must succeed. Gives the last answer's body as JSON, if it is that.
fn send_all(address: &str, requests: impl IntoIterator<Item = Vec<u8>>) -> anyhow::Result<Value> {
    block_on(async {
        let (mut wire, mut last) = (Wire::connect(address).await?, Value::Null);
        for request in requests {
            let response = wire.send(&request).await?;
            anyhow::ensure!(response.status < 300, "status {}: {}", response.status, wire.text(response));
            last = serde_json::from_slice(wire.body(response)).unwrap_or_default();
        }
        Ok(last)
    })
}
