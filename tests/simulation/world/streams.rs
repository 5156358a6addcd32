//! Streams, from the server's bytes to the machines' ears. Must not know what they tell.

use hearth_contract::schema::Kind;
use hearth_replica::sync::{DriverEvent, HttpRequest};

use super::World;
use crate::simulation::faults::Fault;
use crate::simulation::machine::Listening;
use crate::simulation::network::{Address, Bar, Flowing, Happening, LEFT};
use crate::simulation::server::NoAnswer;

/// Pieces that a stream says at once at most; more is a loop without end.
const AT_ONCE_MAX: u32 = 10_000;

impl World {
    pub(super) fn stream_wish(&mut self, from: Address, stream: u64, ask: &HttpRequest) -> Result<(), String> {
        self.requests += 1;
        if self.listening(from, stream).is_none() {
            return Ok(());
        }
        let there = self.network.latency();
        let (cut_in, mute_in, slow) = self.network.stream_fate();
        let at = self.now + there;
        let barred = self.network.strikes(Fault::StreamBarred);
        let bar = (barred || self.machines[from.machine].barred_until > self.now).then(|| self.network.bar());
        let cut_in = match bar {
            Some(Bar::Refuses(answer)) => {
                self.network.at(at, Happening::StreamRefused { to: from, stream, answer });
                return Ok(());
            }
            Some(Bar::Ends) => {
                self.network.at(at, Happening::StreamEnd { to: from, stream, reason: "the connection broke" });
                return Ok(());
            }
            Some(Bar::Cut(after)) => Some(after),
            None => cut_in,
        };
        match self.server.open(from.machine, ask) {
            Ok(Ok(body)) => {
                if ask.path.contains("cursor=start") {
                    self.machines[from.machine].reads_up_to = self.model.present().head;
                }
                let flowing =
                    Flowing { to: from, number: stream, body, cut_in, mute_in, slow, last_at: at, left_at: None };
                self.flowing.push(flowing);
                self.network.at(at, Happening::StreamOpen { to: from, stream });
            }
            Ok(Err(answer)) => self.network.at(at, Happening::StreamRefused { to: from, stream, answer }),
            Err(why) => {
                self.network.at(at, Happening::StreamEnd { to: from, stream, reason: "connection refused" });
                if let NoAnswer::Crashed(point) = why {
                    self.say(format_args!("the server crashes: {point}"));
                    self.server_gone();
                }
            }
        }
        Ok(())
    }

    /// Takes from every stream what it has to say.
    pub(super) fn flow(&mut self) -> Result<(), String> {
        let mut kept = Vec::new();
        for mut one in std::mem::take(&mut self.flowing) {
            if one.left_at.is_some_and(|left| self.now - left > LEFT) {
                continue;
            }
            if self.run_dry(&mut one)? {
                kept.push(one);
            }
        }
        self.flowing = kept;
        Ok(())
    }

    /// False: it is over.
    fn run_dry(&mut self, one: &mut Flowing) -> Result<bool, String> {
        let (to, stream) = (one.to, one.number);
        let mut pieces = 0;
        while let Some(said) = self.server.next(&mut one.body) {
            pieces += 1;
            if pieces > AT_ONCE_MAX {
                return Err(format!("stream {stream} never comes to an end"));
            }
            let Some(mut bytes) = said else {
                one.last_at = one.last_at.max(self.now + self.network.latency_on(one.slow));
                let end = Happening::StreamEnd { to, stream, reason: "the server ended the stream" };
                self.network.at(one.last_at, end);
                return Ok(false);
            };
            if let Some(left) = &mut one.mute_in {
                let through = bytes.len().min(*left);
                *left -= through;
                bytes.truncate(through);
            }
            let breaks = one.cut_in.is_some_and(|left| left < bytes.len());
            if let Some(left) = &mut one.cut_in {
                bytes.truncate(*left);
                *left = left.saturating_sub(bytes.len());
            }
            // What the server wrote at once may come in pieces.
            let piece = self.network.dice.of(&[17, 400, 4000, usize::MAX]);
            for bytes in bytes.chunks(piece.min(bytes.len().max(1))) {
                one.last_at = one.last_at.max(self.now + self.network.latency_on(one.slow));
                self.network.at(one.last_at, Happening::Bytes { to, stream, bytes: bytes.to_vec() });
            }
            if breaks {
                let end = Happening::StreamEnd { to, stream, reason: "the connection broke" };
                self.network.at(one.last_at, end);
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn bytes(&mut self, to: Address, stream: u64, bytes: &[u8]) -> Result<(), String> {
        let now = self.now;
        let is_cut_off = self.machines[to.machine].is_cut_off(now);
        let Some(listening) = self.listening(to, stream) else { return Ok(()) };
        listening.broken |= is_cut_off;
        if listening.broken {
            return Ok(());
        }
        let heard = listening.decoder.decode(bytes);
        for heard in heard {
            if let DriverEvent::StreamBatch(stretch) = &heard {
                let (first, last) = (stretch.events.first().map(|e| e.id), stretch.events.last().map(|e| e.id));
                let ready = stretch.end;
                let deletes = stretch.events.iter().filter(|event| event.payload.is_none()).filter_map(|event| {
                    let kind = Kind::parse(&event.resource_type)?;
                    Some((event.id, (kind, event.resource_id.to_string())))
                });
                self.machines[to.machine].book.told.extend(deletes);
                self.say(format_args!("r{} hears events {first:?} to {last:?}, ready {ready:?}", to.machine));
            }
            if self.listening(to, stream).is_none() {
                return Ok(());
            }
            self.tell(to.machine, heard)?;
        }
        if to.machine + 1 == self.plan.machines && self.plan.breaks_off > 0 && self.machines[to.machine].is_filling() {
            let away = std::mem::take(&mut self.plan.breaks_off);
            self.machines[to.machine].offline_until = now + away;
            self.say(format_args!("r{}'s first read is broken off for {away} ms", to.machine));
        }
        Ok(())
    }

    pub(super) fn leave_stream(&mut self, machine: usize) {
        let Some(left) = self.machines[machine].stream.take() else { return };
        let now = self.now;
        // The server hears of it, unless nothing comes through any more.
        self.flowing.retain_mut(|one| {
            if one.number == left.number {
                one.left_at = Some(now);
            }
            one.number != left.number || one.mute_in.is_some()
        });
    }

    pub(super) fn listening(&mut self, to: Address, stream: u64) -> Option<&mut Listening> {
        self.addressed(to)?.stream.as_mut().filter(|listening| listening.number == stream)
    }
}
