//! The limits of an import. Must not know what is limited.

/// The most rows of a file, without the heading.
pub const ROWS_MAX: usize = 50_000;
/// The most columns of a table.
pub const COLUMNS_MAX: usize = 300;
/// The most cells of a table, empty cells too: they all are in memory at once.
pub(super) const CELLS_MAX: usize = 2_000_000;
