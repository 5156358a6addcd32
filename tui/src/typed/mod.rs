//! What people type, understood: days, sums, filters, a task in one line. Text in, meaning out; must not know which part of the
//! screen it was typed into.

pub mod dates;
pub mod filter;
pub mod fuzzy;
pub mod numbers;
pub mod quick;
