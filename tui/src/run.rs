//! Runs the terminal UI: opens the replica, starts the threads, runs the main loop, and closes everything in order.
//! Must not decide what a message means; [`App`] does.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use hearth_replica::doctor::{Diagnosis, diagnose, new_key_advice, other_process_key_advice};
use hearth_replica::profile::Profile;
use hearth_replica::sync::{SyncConfig, SyncLock};
use hearth_replica::{Origin, RebuildReport, Replica, StoreError, address, log};

use crate::app::{App, Setup};
use crate::config::Config;
use crate::edge::background::{self, Background};
use crate::edge::context::EdgeContext;
use crate::edge::event::{self, TICK};
use crate::edge::external;
use crate::edge::keyboard::Keyboard;
use crate::edge::session_file::{self, SessionFile};
use crate::edge::terminal::Screen;
use crate::edge::threads::{self, Workers};
use crate::keys::Keymap;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::view::{self, Theme};
use crate::welcome;

/// How long the loop waits for a message while typed-ahead keys wait for an answer. Such keys wait half a second at
/// most.
const TYPE_AHEAD_TICK: Duration = Duration::from_millis(50);

/// The inputs of [`run_ui`].
#[derive(Debug)]
pub struct UiOptions {
    /// The replica database.
    pub db: PathBuf,
    /// How to sync the database when no other process does. None: no sync.
    pub sync: Option<SyncConfig>,
    /// Why the API key of the server cannot be read, and the next step. None: there is a key, or no server.
    pub keyless: Option<String>,
    /// The command that sets another API key, shown when the server rejects the key. None: there is no server.
    pub another_key: Option<String>,
    /// The command-line flags that select this home: `--profile cabin`. Empty for the default profile.
    pub flags: String,
    /// A word after the name of the program, such as `demo`.
    pub title: Option<String>,
    /// The profile that a connection to a server is saved in. None: the home has a server, or is a demo.
    pub profile: Option<Profile>,
    /// The settings of the person.
    pub config: Config,
}

/// The command that stores another API key for the server of a profile, or the place of the key.
pub fn another_key_command(profile: &Profile, server: &str, flags: &str) -> String {
    let here = || new_key_advice(profile).replace("--server URL", &format!("--server {server}"));
    address::with_home_flags(&other_process_key_advice(&profile.db).unwrap_or_else(here), flags)
}

/// Runs the terminal UI until the user quits. The terminal is restored in every case.
///
/// # Errors
/// When the database, the log or the terminal cannot be used, and when a change could not be written at the end.
pub fn run_ui(options: UiOptions) -> anyhow::Result<()> {
    // Steps that can fail come before the screen opens: the person then sees the error message.
    let (first, rescue) = open_replica(&options)?;
    let open = || Replica::open(&options.db, Origin::Tui);
    let replicas = [first, open()?, open()?];
    let log = log::to_file(&options.db, "info")
        .with_context(|| format!("the log beside {} cannot be written", options.db.display()))?;
    let (sender, messages) = channel();
    // Locked until the end, when the session is written for the last time.
    let session = session_file::claim(&options.db);
    let exports = std::env::current_dir().unwrap_or_default();
    let flags = options.flags.clone();
    let context = EdgeContext { db: options.db.clone(), session: session.path.clone(), exports, flags: options.flags };
    let workers = threads::start_workers(replicas, context, sender.clone())?;
    let _watch = event::watch_database(&options.db, sender.clone())?;
    if let Some(rescue) = rescue {
        sender.send(Message::Rebuilt(rescue))?;
    }
    let serverless = options.sync.is_none() && options.keyless.is_none();
    let mut background = Background::start(options.sync, sender.clone())?;
    let mut screen = Screen::open(options.config.mouse).context("this terminal cannot show screens")?;
    let keys = options.config.keys.clone();
    let setup = Setup {
        title: options.title,
        ascii: options.config.ascii,
        reduced_motion: options.config.reduced_motion,
        keys: options.config.keys,
        keyless: options.keyless,
        serverless,
        can_connect: options.profile.is_some(),
        another_key: options.another_key,
    };
    let theme = Theme::from_environment(options.config.theme);
    let ascii = setup.ascii;
    let (mut app, effects) = App::start(Now::from_clock(), setup, session.session.clone(), screen.size()?);
    let keyboard = Some(Keyboard::listen(sender.clone(), keys.clone())?);
    let connecting = Connecting { profile: options.profile, flags, ascii };
    let mut ui =
        Ui { theme, screen: &mut screen, keyboard, keys, background: &mut background, connecting, log, sender };
    let ended = ui.run(&mut app, effects, &messages, &workers);
    drop(ui);
    drop(screen);
    let undone = finish_writes(app, &messages, workers, &session);
    drop(session);
    drop(background);
    ended?;
    anyhow::ensure!(
        undone.is_empty(),
        "not done: {}\nnext: hearth, and do it again; an unsaved form is still there",
        undone.join("\nnot done: ")
    );
    Ok(())
}

/// Waits until all changes are written, and writes the session. Returns a sentence for each change that failed.
fn finish_writes(mut app: App, messages: &Receiver<Message>, workers: Workers, session: &SessionFile) -> Vec<String> {
    background::let_interrupts_end_process();
    workers.finish(|| eprintln!("hearth: the last change is still being written; ctrl-c stops the program at once"));
    let (undone, last) = app.end(Now::from_clock(), messages.try_iter());
    if let Some(last) = last
        && let Err(error) = session_file::write_session(&session.path, &last)
    {
        tracing::warn!(%error, "the session file could not be written");
    }
    undone
}

/// Opens the database. A damaged database is rebuilt from the server if a server is known and no other process holds
/// the sync lock; that process would rebuild the database itself.
fn open_replica(options: &UiOptions) -> anyhow::Result<(Replica, Option<RebuildReport>)> {
    let (replica, rescue) = open_or_rebuild(options)?;
    if options.sync.is_some() || options.keyless.is_some() {
        replica.expect_server()?;
    }
    Ok((replica, rescue))
}

fn open_or_rebuild(options: &UiOptions) -> anyhow::Result<(Replica, Option<RebuildReport>)> {
    let db = &options.db;
    let cannot = |error: StoreError| {
        let Diagnosis { text, next, .. } = diagnose(db, &error);
        let file = db.display().to_string();
        let named = if text.contains(&file) { text } else { format!("{file}: {text}") };
        anyhow::anyhow!(
            "the replica database cannot be opened: {named}\nnext: {}",
            address::with_home_flags(&next, &options.flags)
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

/// The main loop, and the parts that carry out effects on the terminal.
struct Ui<'s> {
    theme: Theme,
    screen: &'s mut Screen,
    /// None while another program uses the terminal.
    keyboard: Option<Keyboard>,
    keys: Keymap,
    background: &'s mut Background,
    connecting: Connecting,
    log: PathBuf,
    sender: Sender<Message>,
}

/// What a connection to a server needs.
struct Connecting {
    /// None: there is nothing to connect.
    profile: Option<Profile>,
    /// The command-line flags that select this home.
    flags: String,
    ascii: bool,
}

impl Ui<'_> {
    /// The main loop: carry out effects, draw, wait for a message, pass the message to the application.
    fn run(
        &mut self,
        app: &mut App,
        mut effects: Vec<Effect>,
        messages: &Receiver<Message>,
        workers: &Workers,
    ) -> anyhow::Result<()> {
        loop {
            let mut queue = VecDeque::from(std::mem::take(&mut effects));
            while let Some(effect) = queue.pop_front() {
                if effect == Effect::Quit {
                    return Ok(());
                }
                match effect {
                    Effect::Connect => queue.extend(self.connect(app, messages)?),
                    effect => self.run_effect(app, effect, &mut queue, workers)?,
                }
            }
            let theme = self.theme;
            self.screen.draw(|frame| view::draw(app, Now::from_clock(), &theme, frame))?;
            let first = match messages.recv_timeout(if app.has_typed_ahead() { TYPE_AHEAD_TICK } else { TICK }) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => Message::Tick,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            effects = update_all(app, first, messages);
        }
    }

    /// Carries out an effect on the terminal, or sends the effect to its thread. Further effects go to the end of
    /// `queue`.
    fn run_effect(
        &mut self,
        app: &mut App,
        effect: Effect,
        queue: &mut VecDeque<Effect>,
        workers: &Workers,
    ) -> anyhow::Result<()> {
        match effect {
            Effect::Redraw => self.screen.redraw_all()?,
            Effect::Copy(text) => self.screen.copy(&text)?,
            Effect::Suspend => {
                self.keyboard = None;
                let background = &*self.background;
                let (_, taken) = self.screen.lend(|| background.pause_while(external::suspend_process));
                taken.map_err(anyhow::Error::from).and_then(|()| self.listen())?;
            }
            Effect::TakeTerminal => {
                self.screen.reenter()?;
                // The size may have changed while this process was stopped.
                let (width, height) = self.screen.size()?;
                queue.extend(app.update(Now::from_clock(), Message::Resize(width, height)));
            }
            Effect::Editor(text) => {
                let (edited, taken) = self.lend_terminal(|| external::edit_text(&text));
                // Before any other message: the next may be the end, which keeps the text in the session.
                queue.extend(app.update(Now::from_clock(), Message::EditorClosed(edited)));
                if let Err(error) = taken {
                    queue.drain(..).try_for_each(|effect| workers.send(effect))?;
                    return Err(error);
                }
            }
            effect => workers
                .send(effect)
                .with_context(|| format!("a thread of the replica has ended; see {}", self.log.display()))?,
        }
        Ok(())
    }

    /// Asks for a server and an API key over the whole screen, and starts to sync. Other messages wait meanwhile.
    fn connect(&mut self, app: &mut App, messages: &Receiver<Message>) -> anyhow::Result<Vec<Effect>> {
        let Some(profile) = &mut self.connecting.profile else { return Ok(Vec::new()) };
        let asked = welcome::ask_connection(self.screen, messages, profile, self.connecting.ascii, &self.theme)?;
        if let Some(home) = asked.home
            && let (Some(server), Some(config)) = (profile.server.clone(), profile.sync_config())
        {
            *self.background = Background::start(Some(config), self.sender.clone())?;
            let another_key = another_key_command(profile, &server, &self.connecting.flags);
            self.sender.send(Message::Connected { home, another_key })?;
        }
        for message in asked.others {
            self.sender.send(message)?;
        }
        let (width, height) = self.screen.size()?;
        Ok(app.update(Now::from_clock(), Message::Resize(width, height)))
    }

    /// Releases screen and keyboard for the duration of `work`. Err: the terminal is gone.
    fn lend_terminal<T>(&mut self, work: impl FnOnce() -> T) -> (T, anyhow::Result<()>) {
        self.keyboard = None;
        let (value, taken) = self.screen.lend(work);
        (value, taken.map_err(Into::into).and_then(|()| self.listen()))
    }

    fn listen(&mut self) -> anyhow::Result<()> {
        let (width, height) = self.screen.size()?;
        self.sender.send(Message::Resize(width, height))?;
        self.keyboard = Some(Keyboard::listen(self.sender.clone(), self.keys.clone())?);
        Ok(())
    }
}

/// Passes the first message and all waiting messages to the application, so that many messages need one frame. After an
/// [`Effect::Quit`], the remaining messages stay in the channel for [`App::end`]; after an [`Effect::Connect`], for the form.
fn update_all(app: &mut App, first: Message, messages: &Receiver<Message>) -> Vec<Effect> {
    let mut effects = app.update(Now::from_clock(), first);
    while !effects.iter().any(|effect| matches!(effect, Effect::Quit | Effect::Connect))
        && let Ok(message) = messages.try_recv()
    {
        effects.extend(app.update(Now::from_clock(), message));
    }
    effects
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;
    use hearth_replica::ConflictPolicy;

    use super::*;
    use crate::fixtures;
    use crate::message::{Answer, Write};

    #[test]
    fn damaged_database_is_rebuilt_at_start() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let hall = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        Replica::open(&db, Origin::Cli).unwrap().create(Kind::Room, &hall).unwrap();
        // Damage the header only: the edits stay readable.
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
            profile: None,
            config: Config::default(),
        };
        let error = open_replica(&options).expect_err("there is no server to download from").to_string();
        let (sentence, next) = error.split_once("\nnext: ").unwrap();
        assert!(sentence.contains("replica.db") && next.contains("hearth-replica --db replica.db"), "{error}");
        options.sync = Some(sync);
        let other = SyncLock::try_take(&db).unwrap().unwrap();
        assert!(open_replica(&options).is_err());
        drop(other);
        let (replica, rescue) = open_replica(&options).unwrap();
        assert_eq!((replica.edits().unwrap().len(), rescue.map(|rescue| rescue.edits)), (1, Some(1)));
        assert!(open_replica(&options).unwrap().1.is_none());
    }

    #[test]
    fn answer_after_quit_reaches_end() {
        let (mut app, _) = App::start(fixtures::now(), Setup::default(), Default::default(), (80, 24));
        let (sender, messages) = channel();
        let write = Write::Delete { kind: Kind::Task, id: "a".into(), title: "Sweep".into() };
        sender.send(Message::Answer(Answer::Written(write, Err("the disk is full".into())))).unwrap();
        let effects = update_all(&mut app, Message::End, &messages);
        assert!(effects.contains(&Effect::Quit));
        let (undone, _) = app.end(fixtures::now(), messages.try_iter());
        assert_eq!(undone, ["the deletion of “Sweep”: the disk is full"]);
    }
}
