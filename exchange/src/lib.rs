//! How records of a home come in from tables of other programs and go out to people (contract 23): imports, reports and
//! calendars. The server and the replica use the same code, so that both read and write the same forms. Opens no file and
//! no socket: callers give readers and writers. Must not know the clock, SQL or HTTP.

pub mod calendar;
pub mod ends;
pub mod import;
pub mod picture;
pub mod report;
pub mod table;
