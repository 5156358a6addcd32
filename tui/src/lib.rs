//! The terminal UI of Hearth. Read in this order:
//!
//! - [`message`]: what can happen and what can be asked for.
//! - [`app`]: the state and how it changes, pure: `update(now, message)` gives effects. Its parts are [`list`],
//!   [`detail`], [`form`] with [`editor`] and [`input`], [`search`].
//! - [`keys`]: the one table of actions; [`help`] and the footer read it.
//! - [`words`], [`standing`], [`cells`], [`columns`], [`glyphs`], [`layout`], [`now`]: how things are said and where.
//! - [`view`]: one file per screen, drawing only; [`sanitize`] makes data harmless before it is drawn.
//! - [`effects`], [`event`], [`background`], [`terminal`]: the edge, where threads, files and the terminal are.
//! - [`demo`]: all of Hearth in one process.
//!
//! No SQL and no HTTP here: the replica is read and edited through `hearth_replica`.

pub mod app;
pub mod background;
pub mod cells;
pub mod columns;
pub mod demo;
pub mod detail;
pub mod editor;
pub mod effects;
pub mod event;
#[cfg(test)]
mod fixtures;
pub mod form;
pub mod glyphs;
pub mod help;
pub mod input;
pub mod keys;
pub mod layout;
pub mod list;
pub mod message;
pub mod now;
pub mod sanitize;
pub mod search;
pub mod standing;
pub mod terminal;
pub mod view;
pub mod words;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use hearth_replica::sync::SyncConfig;
use hearth_replica::{Origin, Replica};

use crate::app::App;
use crate::background::Background;
use crate::event::Keyboard;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::terminal::Screen;
use crate::view::Theme;

/// How long nothing may happen before the picture is drawn again: days turn and notices go.
const TICK: Duration = Duration::from_secs(1);

/// What the terminal UI needs to know.
#[derive(Debug)]
pub struct UiOptions {
    /// The replica database.
    pub db: PathBuf,
    /// How to sync it when no other process does; None reads and edits only.
    pub sync: Option<SyncConfig>,
    /// A word beside the name, such as `demo`.
    pub title: Option<String>,
    /// Signs in ASCII.
    pub ascii: bool,
}

/// Runs the terminal UI until the user quits. The terminal is given back however it ends.
pub fn run_ui(options: UiOptions) -> anyhow::Result<()> {
    // What can fail does so before the screen is taken, where the sentence can be read.
    let replica = Replica::open(&options.db, Origin::Tui)
        .with_context(|| format!("the replica database {} cannot be opened", options.db.display()))?;
    background::log_beside(&options.db).context("the log cannot be written")?;
    let (sender, messages) = channel();
    let requests = effects::start(replica, sender.clone())?;
    let _bell = event::bell(&options.db, sender.clone())?;
    let _background = Background::start(options.sync, sender.clone())?;
    let mut screen = Screen::open().context("this is no terminal that can be drawn on")?;
    let _keyboard = Keyboard::listen(sender)?;
    let (app, effects) = App::start(options.title, options.ascii, screen.size()?);
    run(app, effects, &mut screen, &messages, &requests)
}

/// The loop that decides nothing: draw, wait for whatever comes first, hand it to the application, carry out what
/// comes back.
fn run(
    mut app: App,
    mut effects: Vec<Effect>,
    screen: &mut Screen,
    messages: &Receiver<Message>,
    requests: &Sender<Effect>,
) -> anyhow::Result<()> {
    let theme = Theme::from_environment();
    loop {
        for effect in effects.drain(..) {
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Redraw => screen.forget()?,
                effect => requests.send(effect).context("the thread of the replica has ended; see hearth.log")?,
            }
        }
        screen.draw(|frame| view::draw(&app, Now::read(), &theme, frame))?;
        let first = match messages.recv_timeout(TICK) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => Message::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // What came meanwhile is taken before the next picture, so that a burst is drawn once.
        for message in std::iter::once(first).chain(messages.try_iter()) {
            effects.extend(app.update(Now::read(), message));
        }
    }
}
