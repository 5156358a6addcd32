//! What comes of each thing that happens. Must not know why it does.

use hearth_contract::schema::Kind;
use hearth_replica::sync::{DriverEvent, HttpResponse};
use serde_json::Value;

use super::{NOTICE_MILLIS, World};
use crate::simulation::model::Name;
use crate::simulation::network::{Happening, is_page};

impl World {
    pub(super) fn happen(&mut self, what: Happening) -> Result<(), String> {
        match what {
            Happening::Act(number) => self.act(number),
            Happening::Question { from, ticket, ask, wanted } => self.question(from, ticket, &ask, wanted),
            Happening::Answer { to, ticket, answer } => {
                let Some(machine) = self.addressed(to) else { return Ok(()) };
                let Some(place) = machine.asked.iter().position(|asked| *asked == ticket) else { return Ok(()) };
                machine.asked.swap_remove(place);
                // What somebody on the way says, or half an answer, tells nothing of the cursor.
                let judges = |answer: &HttpResponse| {
                    !is_page(answer) && (answer.status == 410 || (answer.status == 200 && !answer.body.is_empty()))
                };
                if machine.polls.remove(&ticket) && answer.as_ref().is_ok_and(judges) {
                    machine.unaware = false;
                }
                if let Ok(answer) = &answer {
                    machine.book.told.extend(deletes(&answer.body));
                }
                let is_final = |answer: &HttpResponse| match answer.status {
                    _ if is_page(answer) => false,
                    200..300 => !answer.body.is_empty() || answer.etag.is_some(),
                    status => status < 429 && status != 408,
                };
                if let Ok(answer) = answer.as_ref()
                    && is_final(answer)
                    && let Some((what, _)) = machine.sent_as.remove(&ticket)
                {
                    // Of one that was turned away at the door, an earlier attempt may still be in.
                    let turned_away = matches!(answer.status, 401 | 403);
                    let attempts = machine.unanswered.get_mut(&what).map(|(_, attempts)| attempts);
                    match attempts.filter(|attempts| turned_away && **attempts > 1) {
                        Some(attempts) => *attempts -= 1,
                        None => drop(machine.unanswered.remove(&what)),
                    }
                }
                let text = match &answer {
                    Ok(answer) => answer.status.to_string(),
                    Err(why) => why.clone(),
                };
                self.say(format_args!("r{} hears {ticket}: {text}", to.machine));
                self.tell(to.machine, DriverEvent::Response { ticket, response: answer })
            }
            Happening::StreamWish { from, stream, ask } => self.stream_wish(from, stream, &ask),
            Happening::StreamOpen { to, stream } => {
                let Some(listening) = self.listening(to, stream) else { return Ok(()) };
                listening.open = true;
                let outdated = listening.outdated;
                self.machines[to.machine].unaware &= outdated;
                self.say(format_args!("r{} has its stream {stream}", to.machine));
                self.tell(to.machine, DriverEvent::StreamOpened)
            }
            Happening::StreamRefused { to, stream, answer } => {
                let Some(listening) = self.listening(to, stream) else { return Ok(()) };
                let outdated = listening.outdated;
                self.machines[to.machine].unaware &= answer.status != 410 || outdated;
                let text = String::from_utf8_lossy(&answer.body);
                if text.contains(r#""reason":"retention""#) && self.machines[to.machine].is_filling() {
                    return Err(format!("the first read of replica {} has expired", to.machine));
                }
                self.say(format_args!("r{} is refused its stream: {}", to.machine, answer.status));
                self.tell(to.machine, DriverEvent::StreamRefused(answer))
            }
            Happening::Bytes { to, stream, bytes } => self.bytes(to, stream, &bytes),
            Happening::StreamEnd { to, stream, reason } => {
                if self.listening(to, stream).is_none() {
                    return Ok(());
                }
                self.say(format_args!("r{}'s stream {stream} is over: {reason}", to.machine));
                self.machines[to.machine].stream = None;
                self.tell(to.machine, DriverEvent::StreamEnded { reason: reason.to_owned() })
            }
            Happening::Wake { to } => {
                self.waking[to.machine] = None;
                let Some(machine) = self.addressed(to) else { return Ok(()) };
                match machine.wake_at() {
                    Some(at) if at <= self.now => self.tell(to.machine, DriverEvent::Timer),
                    _ => {
                        self.set_alarm(to.machine);
                        Ok(())
                    }
                }
            }
            Happening::Bell { machine } => {
                if !self.machines[machine].is_up() {
                    return Ok(());
                }
                self.tell(machine, DriverEvent::DatabaseChanged)
            }
            Happening::Start { machine } => self.start(machine),
            Happening::ServerStart => self.server_start(),
            Happening::Notice => {
                let crashed = self.server.notice();
                self.server_crashed(crashed);
                Ok(())
            }
            Happening::Tidy => {
                self.tidy();
                let every = self.server.retention().map_or(60_000, |kept| kept.as_millis() as i64);
                self.network.at(self.now + every.clamp(250, 60_000), Happening::Tidy);
                Ok(())
            }
            Happening::Resume { machine } => {
                self.machines[machine].screen.resume().map_err(|error| error.to_string())?;
                self.say(format_args!("r{machine} person: resumes"));
                self.network.at(self.now + 1, Happening::Bell { machine });
                Ok(())
            }
            Happening::ClientAgain { ask, until } => match self.server_time() {
                // By then the server may have forgotten the key, and only the feed could tell a client what became of it.
                time if time > until => Ok(()),
                _ => self.client(&ask, false),
            },
            Happening::KeyBack { key } => {
                self.say(format_args!("key {key} is whole again"));
                self.server.change_key(key, false, &[])?;
                self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
                Ok(())
            }
        }
    }
}

/// The deletes that a piece of the feed tells, and where.
fn deletes(body: &[u8]) -> Vec<(i64, Name)> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let deleted = body["data"].as_array().into_iter().flatten().filter(|event| event["type"] == "deleted");
    let name = |event: &Value| {
        let kind = Kind::parse(event["resource_type"].as_str()?)?;
        Some((event["id"].as_i64()?, (kind, event["resource_id"].as_str()?.to_owned())))
    };
    deleted.filter_map(name).collect()
}
