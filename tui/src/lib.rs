//! The terminal UI of Hearth. Read in this order:
//!
//! - [`message`]: what can happen and what can be asked for.
//! - [`app`]: the state and how it changes, pure: `update(now, message)` gives effects. [`state`] has its parts, one for each
//!   thing on the screen.
//! - [`keys`]: the one table of actions; the footer, the palette and `hearth keys` read it.
//! - [`typed`]: what people type, understood. [`words`]: everything as people read it. [`layout`]: where it stands.
//! - [`view`]: one file per screen, drawing only.
//! - [`edge`]: where threads, files and the terminal are. Messages come from there, effects go there.
//! - [`config`]: how a person wants it. [`welcome`]: a first run. [`demo`]: all of Hearth in one process.
//!
//! No SQL and no HTTP here, but for the demo's one script: the replica is read and edited through `hearth_replica`.

pub mod app;
pub mod config;
pub mod demo;
pub mod edge;
#[cfg(test)]
mod fixtures;
pub mod keys;
pub mod layout;
pub mod message;
pub mod now;
pub mod state;
pub mod typed;
pub mod view;
pub mod welcome;
pub mod words;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use hearth_replica::doctor::{Trouble, trouble};
use hearth_replica::sync::{SyncConfig, SyncLock};
use hearth_replica::{Origin, RebuildReport, Replica, StoreError, address, log};

use crate::app::{App, Setup};
use crate::config::Config;
use crate::edge::background::{self, Background};
use crate::edge::effects::Places;
use crate::edge::event::{self, Keyboard};
use crate::edge::terminal::Screen;
use crate::edge::threads::{self, Requests};
use crate::edge::{outside, seat};
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::view::Theme;

/// How long nothing may happen before the picture is drawn again: days turn and notices go.
const TICK: Duration = Duration::from_secs(1);
/// The same while something that was typed waits for an answer, which is not waited for long.
const SOON: Duration = Duration::from_millis(50);

/// What the terminal UI needs to know.
#[derive(Debug)]
pub struct UiOptions {
    /// The replica database.
    pub db: PathBuf,
    /// How to sync it when no other process does; None reads and edits only.
    pub sync: Option<SyncConfig>,
    /// Why there is no key to sync with though there should be one, and what to do about it.
    pub keyless: Option<String>,
    /// What to type where the server wants another key than the one there is.
    pub another_key: Option<String>,
    /// The flags that mean this home in a command.
    pub flags: String,
    /// A word beside the name, such as `demo`.
    pub title: Option<String>,
    /// How a person wants it.
    pub config: Config,
}

/// Runs the terminal UI until the user quits. The terminal is given back however it ends.
pub fn run_ui(options: UiOptions) -> anyhow::Result<()> {
    // What can fail does so before the screen is taken, where the sentence can be read.
    let (first, rescue) = opened(&options)?;
    let open = || Replica::open(&options.db, Origin::Tui);
    let replicas = [first, open()?, open()?];
    // Beside the database, whose directory is there from now on.
    let log = log::to_file(&options.db, "info")
        .with_context(|| format!("the log beside {} cannot be written", options.db.display()))?;
    let (sender, messages) = channel();
    // Until the last of it is written: nobody else may take it before.
    let seat = seat::take(&options.db);
    let exports = std::env::current_dir().unwrap_or_default();
    let places = Places { db: options.db.clone(), session: seat.path.clone(), exports, flags: options.flags };
    let requests = threads::start(replicas, places, sender.clone())?;
    let _bell = event::bell(&options.db, sender.clone())?;
    if let Some(rescue) = rescue {
        sender.send(Message::Rebuilt(rescue))?;
    }
    let serverless = options.sync.is_none() && options.keyless.is_none();
    let background = Background::start(options.sync, sender.clone())?;
    let mut screen = Screen::open(options.config.mouse).context("this is no terminal that can be drawn on")?;
    let setup = Setup {
        title: options.title,
        ascii: options.config.ascii,
        reduced_motion: options.config.reduced_motion,
        keys: options.config.keys,
        keyless: options.keyless,
        serverless,
        another_key: options.another_key,
    };
    let theme = Theme::from_environment(options.config.theme);
    let (mut app, effects) = App::start(Now::read(), setup, seat.session.clone(), screen.size()?);
    let keyboard = Some(Keyboard::listen(sender.clone())?);
    let mut ui = Ui { theme, screen: &mut screen, keyboard, background: &background, log, sender };
    let ended = ui.run(&mut app, effects, &messages, &requests);
    drop(ui);
    drop(screen);
    // What was done must be written, whatever syncing still does.
    background::finishing();
    requests.finish(|| eprintln!("hearth: what was begun is still being written; ctrl-c stops it where it is"));
    let (undone, session) = app.end(Now::read(), messages.try_iter());
    if let Some(session) = session
        && let Err(error) = seat::write(&seat.path, &session)
    {
        tracing::warn!(%error, "the session was not kept");
    }
    drop(seat);
    drop(background);
    ended?;
    anyhow::ensure!(
        undone.is_empty(),
        "not done: {}\nnext: hearth, and do it again; a form is there as it was left",
        undone.join("\nnot done: ")
    );
    Ok(())
}

/// Opens the database. One that is damaged is made anew, as it would be under a running program, if there is a server to
/// read it from and no other process that syncs it and will do so.
fn opened(options: &UiOptions) -> anyhow::Result<(Replica, Option<RebuildReport>)> {
    let db = &options.db;
    let cannot = |error: StoreError| {
        let Trouble { text, next, .. } = trouble(db, &error);
        let file = db.display().to_string();
        let named = if text.contains(&file) { text } else { format!("{file}: {text}") };
        anyhow::anyhow!(
            "the replica database cannot be opened: {named}\nnext: {}",
            address::addressed(&next, &options.flags)
        )
    };
    let damaged = match Replica::open(db, Origin::Tui) {
        Err(error) if error.is_damaged() && options.sync.is_some() => error,
        opened => return opened.map(|replica| (replica, None)).map_err(cannot),
    };
    let lock = SyncLock::try_take(db).with_context(|| format!("{} cannot be locked", db.display()))?;
    let Some(lock) = lock else { return Err(cannot(damaged)) };
    let rescue = hearth_replica::rebuild(db, &lock).map_err(cannot)?;
    Ok((Replica::open(db, Origin::Tui).map_err(cannot)?, Some(rescue)))
}

/// The loop and what it carries out itself.
struct Ui<'s> {
    theme: Theme,
    screen: &'s mut Screen,
    keyboard: Option<Keyboard>,
    background: &'s Background,
    log: PathBuf,
    sender: Sender<Message>,
}

impl Ui<'_> {
    /// The loop that decides nothing: draw, wait for whatever comes first, hand it to the application, carry out what
    /// comes back.
    fn run(
        &mut self,
        app: &mut App,
        mut effects: Vec<Effect>,
        messages: &Receiver<Message>,
        requests: &Requests,
    ) -> anyhow::Result<()> {
        loop {
            let mut queue = VecDeque::from(std::mem::take(&mut effects));
            while let Some(effect) = queue.pop_front() {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Redraw => self.screen.forget()?,
                    Effect::Copy(text) => self.screen.copy(&text)?,
                    Effect::Suspend => {
                        let background = self.background;
                        self.lend(|| background.resting(outside::suspend)).1?;
                    }
                    Effect::Takeover => {
                        self.screen.take_again()?;
                        // Nobody heard how the window changed meanwhile.
                        let (width, height) = self.screen.size()?;
                        queue.extend(app.update(Now::read(), Message::Resize(width, height)));
                    }
                    Effect::Editor(text) => {
                        let (edited, taken) = self.lend(|| outside::edit(&text));
                        // At once: what comes meanwhile may be the end, which keeps what was written by then.
                        queue.extend(app.update(Now::read(), Message::Edited(edited)));
                        if let Err(error) = taken {
                            queue.into_iter().try_for_each(|effect| requests.send(effect))?;
                            return Err(error);
                        }
                    }
                    effect => requests
                        .send(effect)
                        .with_context(|| format!("a thread of the replica has ended; see {}", self.log.display()))?,
                }
            }
            let theme = self.theme;
            self.screen.draw(|frame| view::draw(app, Now::read(), &theme, frame))?;
            let first = match messages.recv_timeout(if app.is_ahead() { SOON } else { TICK }) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => Message::Tick,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            effects = taken(app, first, messages);
        }
    }

    /// Gives screen and keyboard to something else and takes them back, if there still is a terminal; the size may be another
    /// by then.
    fn lend<T>(&mut self, work: impl FnOnce() -> T) -> (T, anyhow::Result<()>) {
        self.keyboard = None;
        let (value, taken) = self.screen.lend(work);
        (value, taken.map_err(Into::into).and_then(|()| self.listen()))
    }

    fn listen(&mut self) -> anyhow::Result<()> {
        let (width, height) = self.screen.size()?;
        self.sender.send(Message::Resize(width, height))?;
        self.keyboard = Some(Keyboard::listen(self.sender.clone())?);
        Ok(())
    }
}

/// Hands on what came first and what came meanwhile, so that a burst is drawn once. What comes after the end stays in the
/// channel, for [`App::end`].
fn taken(app: &mut App, first: Message, messages: &Receiver<Message>) -> Vec<Effect> {
    let mut effects = app.update(Now::read(), first);
    while !effects.contains(&Effect::Quit)
        && let Ok(message) = messages.try_recv()
    {
        effects.extend(app.update(Now::read(), message));
    }
    effects
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;
    use hearth_replica::ConflictPolicy;

    use super::*;
    use crate::message::{Answer, Write};

    #[test]
    fn a_damaged_database_is_made_anew_at_the_start_unless_another_process_will_do_so() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let hall = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        Replica::open(&db, Origin::Cli).unwrap().create(Kind::Room, &hall).unwrap();
        // Its head alone, so that the edits can be read.
        let mut file = std::fs::OpenOptions::new().write(true).open(&db).unwrap();
        std::io::Write::write_all(&mut file, &[0xff; 100]).unwrap();

        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let sync = SyncConfig {
            db: db.clone(),
            server,
            key,
            key_file: None,
            profile: None,
            conflict_policy: ConflictPolicy::Ask,
        };
        let mut options = UiOptions {
            db: db.clone(),
            sync: None,
            keyless: None,
            another_key: None,
            flags: "--db replica.db".to_owned(),
            title: None,
            config: Config::default(),
        };
        let error = opened(&options).expect_err("there is no server to read it from").to_string();
        let (said, next) = error.split_once("\nnext: ").unwrap();
        assert!(said.contains("replica.db") && next.contains("hearth-replica --db replica.db"), "{error}");
        options.sync = Some(sync);
        let other = SyncLock::try_take(&db).unwrap().unwrap();
        assert!(opened(&options).is_err());
        drop(other);
        let (replica, rescue) = opened(&options).unwrap();
        assert_eq!((replica.edits().unwrap().len(), rescue.map(|rescue| rescue.edits)), (1, Some(1)));
        assert!(opened(&options).unwrap().1.is_none());
    }

    #[test]
    fn an_answer_that_comes_right_after_the_end_is_heard_by_it() {
        let (mut app, _) = App::start(fixtures::now(), Setup::default(), Default::default(), (80, 24));
        let (sender, messages) = channel();
        let write = Write::Delete { kind: Kind::Task, id: "a".into(), title: "Sweep".into() };
        sender.send(Message::Answer(Answer::Written(write, Err("the disk is full".into())))).unwrap();
        let effects = taken(&mut app, Message::End, &messages);
        assert!(effects.contains(&Effect::Quit));
        let (undone, _) = app.end(fixtures::now(), messages.try_iter());
        assert_eq!(undone, ["the deletion of “Sweep”: the disk is full"]);
    }
}
