//! Input and output: threads, files, signals and the terminal. Carries effects out and turns outside events into
//! messages. Must not decide what a message means.

pub mod background;
mod clusters;
pub mod context;
pub mod effects;
pub mod event;
pub mod export;
pub mod external;
mod files;
mod import;
pub mod keyboard;
mod queries;
pub mod session_file;
pub mod terminal;
pub mod threads;
pub mod undo;
mod writes;
