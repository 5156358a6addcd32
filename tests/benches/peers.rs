//! The workload `peers`: other services with the same tasks, the same client and the same number of connections, measured
//! in turn with Hearth. The user provides their programs. Must not know how each peer is set up.
//!
//! Peers run with their default settings: each confirms a write before the write is on disk. Hearth confirms afterwards.

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

/// Connections for single requests, and connections for bulk calls.
const MANY: usize = 32;
const FEW: usize = 2;

/// A peer service, written as `NAME=PROGRAM`.
#[derive(Clone)]
pub(crate) struct Peer {
    name: &'static str,
    program: PathBuf,
    begin: fn(&Path, &Testbed) -> anyhow::Result<Contender>,
}

impl Peer {
    /// Suffixes of the figure names for Hearth and the peer; Hearth is measured again beside each peer.
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

/// A filled service and the encoded requests of the work.
pub(crate) struct Contender {
    /// The process of a peer; None for Hearth, whose process belongs to the testbed.
    process: Option<Process>,
    /// Requests for single records.
    reads: Vec<Vec<u8>>,
    /// Requests for the first page of 50 and for the page at 80 % depth.
    pages: [Vec<u8>; 2],
    /// A create, and the expected status.
    create: (Vec<u8>, u16),
    /// A bulk call of fifty creates, and the expected status.
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

/// A part of the work: name, requests with the expected status, number of connections, and records in each response.
type Part = (&'static str, fn(&Contender) -> (&[Vec<u8>], u16), usize, f64);

const PARTS: [Part; 6] = [
    ("reads", |contender| (&contender.reads, 200), MANY, 1.0),
    ("first pages", |contender| (&contender.pages[..1], 200), MANY, 1.0),
    ("pages at 80 % depth", |contender| (&contender.pages[1..], 200), MANY, 1.0),
    ("creates, 1 connection", |contender| (std::slice::from_ref(&contender.create.0), contender.create.1), 1, 1.0),
    ("creates, 32 connections", |contender| (std::slice::from_ref(&contender.create.0), contender.create.1), MANY, 1.0),
    ("bulk records", |contender| (std::slice::from_ref(&contender.bulk.0), contender.bulk.1), FEW, BULK_MAX as f64),
];

/// Measures each given peer in turn with Hearth.
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

/// Measures the memory of an idle stream and the delay of events. A peer without events is reported on stderr.
fn listen(testbed: &mut Testbed, peer: &Peer, ours: &Contender, theirs: &Contender) -> anyhow::Result<()> {
    let (events, many) = (testbed.scale.events.1, testbed.scale.streams);
    let [ours_is, theirs_is] = peer.names();
    let both = [(&ours_is, ours), (&theirs_is, theirs)];
    // Idle streams first, because busy streams do not free all their memory.
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

/// A free address on this machine.
fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Waits until a peer listens at an address.
fn wait_for(address: &str) {
    process::wait_until("the peer listens", || std::net::TcpStream::connect(address).is_ok());
}

/// An encoded request; an empty key or body is left out.
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

/// Sends requests in turn over one connection; each must succeed. Returns the last body as JSON, or null.
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
