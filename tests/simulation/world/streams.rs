//! Streams: from the server's bytes to the decoder of a machine. Must not know what the events of a stream mean.

use hearth_contract::schema::Kind;
use hearth_replica::sync::{DriverEvent, HttpRequest};

use super::super::environment_fault::EnvironmentFault;
use super::super::machine::ClientStream;
use super::super::network::{CLOSE_DELAY_MILLIS, ServerStream, StreamBlock, StreamFate};
use super::super::record::RecordKey;
use super::super::server::{NoResponse, StreamRead};
use super::super::sim_event::{Address, SimEvent};
use super::state::World;

/// The most reads of one stream in one step. More reads mean an endless loop.
const READS_PER_STEP_MAX: u32 = 10_000;

impl World {
    /// Serves the request for a stream that arrives from a machine.
    pub(super) fn serve_stream(&mut self, from: Address, stream: u64, request: &HttpRequest) -> Result<(), String> {
        self.requests += 1;
        if self.client_stream(from, stream).is_none() {
            return Ok(());
        }
        let latency = self.network.latency();
        let StreamFate { cut_in, silent_in, is_slow } = self.network.draw_stream_fate();
        let at = self.now + latency;
        let cut_in = match self.draw_stream_block(from.machine) {
            Some(StreamBlock::Refuses(response)) => {
                self.network.schedule(at, SimEvent::StreamRefused { to: from, stream, response });
                return Ok(());
            }
            Some(StreamBlock::Ends) => {
                self.network.schedule(at, SimEvent::StreamEnded { to: from, stream, reason: "the connection broke" });
                return Ok(());
            }
            Some(StreamBlock::Cut(after)) => Some(after),
            None => cut_in,
        };
        match self.server.open(from.machine, request) {
            Ok(Ok(body)) => {
                if request.path.contains("cursor=start") {
                    self.machines[from.machine].note_backfill(self.model.current().head);
                }
                let number = stream;
                let opened = ServerStream {
                    to: from,
                    number,
                    body,
                    cut_in,
                    silent_in,
                    is_slow,
                    last_arrival: at,
                    closed_at: None,
                };
                self.server_streams.push(opened);
                self.network.schedule(at, SimEvent::StreamOpened { to: from, stream });
            }
            Ok(Err(response)) => self.network.schedule(at, SimEvent::StreamRefused { to: from, stream, response }),
            Err(why) => {
                self.network.schedule(at, SimEvent::StreamEnded { to: from, stream, reason: "connection refused" });
                if let NoResponse::Crashed(point) = why {
                    self.handle_server_crash(Some(point));
                }
            }
        }
        Ok(())
    }

    /// Draws whether and how a proxy blocks a stream of the machine.
    fn draw_stream_block(&mut self, machine: usize) -> Option<StreamBlock> {
        let is_blocked = self.network.occurs(EnvironmentFault::StreamBlocked);
        let all_are_blocked = self.machines[machine].streams_blocked_until > self.now;
        (is_blocked || all_are_blocked).then(|| self.network.draw_stream_block())
    }

    /// Reads all bytes that the server has written to its streams, and schedules their arrival.
    pub(super) fn read_server_streams(&mut self) -> Result<(), String> {
        let mut open = Vec::new();
        for mut stream in std::mem::take(&mut self.server_streams) {
            if stream.closed_at.is_some_and(|closed| self.now - closed > CLOSE_DELAY_MILLIS) {
                continue;
            }
            if self.read_server_stream(&mut stream)? {
                open.push(stream);
            }
        }
        self.server_streams = open;
        Ok(())
    }

    /// Reads all bytes of one stream. False: the stream has ended.
    fn read_server_stream(&mut self, stream: &mut ServerStream) -> Result<bool, String> {
        let mut reads = 0;
        loop {
            let bytes = match self.server.next_bytes(&mut stream.body) {
                StreamRead::Pending => return Ok(true),
                StreamRead::Bytes(bytes) => Some(bytes),
                StreamRead::Ended => None,
            };
            reads += 1;
            if reads > READS_PER_STEP_MAX {
                return Err(format!("stream {} never ends", stream.number));
            }
            let Some(bytes) = bytes else {
                stream.last_arrival = self.next_arrival(stream);
                self.schedule_stream_end(stream, "the server ended the stream");
                return Ok(false);
            };
            if self.transmit(stream, bytes) {
                self.schedule_stream_end(stream, "the connection broke");
                return Ok(false);
            }
        }
    }

    /// Schedules the arrival of bytes in one or more pieces. True: the connection breaks after them.
    fn transmit(&mut self, stream: &mut ServerStream, mut bytes: Vec<u8>) -> bool {
        if let Some(left) = &mut stream.silent_in {
            let transmitted = bytes.len().min(*left);
            *left -= transmitted;
            bytes.truncate(transmitted);
        }
        let breaks = stream.cut_in.is_some_and(|left| left < bytes.len());
        if let Some(left) = &mut stream.cut_in {
            bytes.truncate(*left);
            *left = left.saturating_sub(bytes.len());
        }
        let (to, number) = (stream.to, stream.number);
        let piece = self.network.rng.pick(&[17, 400, 4000, usize::MAX]);
        for bytes in bytes.chunks(piece.min(bytes.len().max(1))) {
            stream.last_arrival = self.next_arrival(stream);
            let bytes = SimEvent::StreamBytes { to, stream: number, bytes: bytes.to_vec() };
            self.network.schedule(stream.last_arrival, bytes);
        }
        breaks
    }

    /// Draws when the next bytes of a stream arrive: never before the bytes that were sent earlier.
    fn next_arrival(&mut self, stream: &ServerStream) -> i64 {
        stream.last_arrival.max(self.now + self.network.stream_latency(stream.is_slow))
    }

    fn schedule_stream_end(&mut self, stream: &ServerStream, reason: &'static str) {
        let end = SimEvent::StreamEnded { to: stream.to, stream: stream.number, reason };
        self.network.schedule(stream.last_arrival, end);
    }

    /// Passes bytes of a stream to the decoder of a machine, and the decoded events to its engine.
    pub(super) fn deliver_bytes(&mut self, to: Address, stream: u64, bytes: &[u8]) -> Result<(), String> {
        let is_cut_off = self.machines[to.machine].is_cut_off(self.now);
        let Some(listening) = self.client_stream(to, stream) else { return Ok(()) };
        listening.is_broken |= is_cut_off;
        if listening.is_broken {
            return Ok(());
        }
        let decoded = listening.decoder.decode(bytes);
        for event in decoded {
            if let DriverEvent::StreamBatch(batch) = &event {
                let (first, last) = (batch.events.first().map(|e| e.id), batch.events.last().map(|e| e.id));
                let ready = batch.end;
                let deletes = batch.events.iter().filter(|event| event.payload.is_none()).filter_map(|event| {
                    let kind = Kind::parse(&event.resource_type)?;
                    Some((event.id, RecordKey { kind, id: event.resource_id.to_string() }))
                });
                self.machines[to.machine].ledger.received_deletes.extend(deletes);
                self.log(format_args!("r{} gets events {first:?} to {last:?}, ready {ready:?}", to.machine));
            }
            if self.client_stream(to, stream).is_none() {
                return Ok(());
            }
            self.notify_engine(to.machine, event)?;
        }
        self.interrupt_backfill(to.machine);
        Ok(())
    }

    /// Takes the network from the last machine in the middle of its backfill, if the plan says so.
    fn interrupt_backfill(&mut self, machine: usize) {
        let is_last = machine + 1 == self.plan.machines;
        if is_last && self.plan.backfill_outage > 0 && self.machines[machine].is_backfilling() {
            let away = std::mem::take(&mut self.plan.backfill_outage);
            self.machines[machine].offline_until = self.now + away;
            self.log(format_args!("the backfill of r{machine} is interrupted: no network for {away} ms"));
        }
    }

    /// Closes the stream of a machine. The server notices the close later, or never when the stream is silent.
    pub(super) fn close_stream(&mut self, machine: usize) {
        let Some(closed) = self.machines[machine].stream.take() else { return };
        let now = self.now;
        self.server_streams.retain_mut(|stream| {
            if stream.number == closed.number {
                stream.closed_at = Some(now);
            }
            stream.number != closed.number || stream.silent_in.is_some()
        });
    }

    /// The stream with this number, if the process of the address still runs and reads the stream.
    pub(super) fn client_stream(&mut self, to: Address, stream: u64) -> Option<&mut ClientStream> {
        self.running_machine(to)?.stream.as_mut().filter(|current| current.number == stream)
    }
}
