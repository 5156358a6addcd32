//! Keys: where the keyboard is ([`Context`]), what a key starts ([`Action`]) and the table of both. Dispatch, the footer, the
//! list of actions and `hearth keys` read the same table. Must not know what an action does.

mod map;
mod names;
mod synonyms;
mod table;
mod types;

pub use map::Keymap;
pub use names::{altgr_character, is_key_name, key_name, key_symbol};
pub use synonyms::synonyms;
pub use table::{BINDINGS, in_context};
pub use types::{Action, Binding, Context, CopyTarget, ExportFormat};
