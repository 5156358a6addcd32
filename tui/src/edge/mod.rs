//! Where threads, files, signals and the terminal are: effects are carried out here, and what happens outside becomes messages.
//! Must not decide what any of it means.

pub mod background;
pub mod effects;
pub mod event;
pub mod export;
mod looks;
pub mod outside;
pub mod seat;
pub mod terminal;
pub mod threads;
pub mod undoing;
mod writes;
