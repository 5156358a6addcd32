//! Where threads, files, signals and the terminal are: effects are carried out here, and what happens outside becomes messages.
//! Must not decide what any of it means.

pub mod background;
pub mod effects;
pub mod event;
pub mod export;
pub mod outside;
pub mod seat;
pub mod terminal;
pub mod undoing;
