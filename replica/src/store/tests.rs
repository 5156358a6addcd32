//! What a script may do to the tables, and what comes of it. Every statement here is plain SQL, as `sqlite3` runs it.
