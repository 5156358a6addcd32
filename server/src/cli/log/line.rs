//! A line of the log as plain text: moment, level, message, and its fields as `name=value`. It reads as tracing's own does,
//! and costs a fraction: no styles, and nothing formatted that is text already. Must not know what is logged.

use std::fmt::{self, Write};

use hearth_contract::formats::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes lines with the moments of a clock.
pub(super) struct Plain(pub(super) fn() -> Timestamp);

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(writer, "{}", (self.0)())?;
        writer.write_str(match *event.metadata().level() {
            Level::ERROR => " ERROR",
            Level::WARN => "  WARN",
            Level::INFO => "  INFO",
            Level::DEBUG => " DEBUG",
            Level::TRACE => " TRACE",
        })?;
        let mut fields = Fields { writer: &mut writer, written: Ok(()) };
        event.record(&mut fields);
        fields.written?;
        writer.write_char('\n')
    }
}

struct Fields<'a, 'w> {
    writer: &'a mut Writer<'w>,
    written: fmt::Result,
}

impl Fields<'_, '_> {
    fn put(&mut self, field: &Field, write: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        let is_message = field.name() == "message";
        self.written = self.written.and_then(|()| {
            self.writer.write_char(' ')?;
            if !is_message {
                self.writer.write_str(field.name())?;
                self.writer.write_char('=')?;
            }
            write(self.writer)
        });
    }
}

impl Visit for Fields<'_, '_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // What a message or an error says may come from outside: no control character of it reaches a terminal.
        self.put(field, |writer| write!(Tame(writer), "{value:?}"));
    }

    /// In quotes, with whatever is not plain as an escape.
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        self.put(field, |writer| match value.bytes().all(is_plain) {
            true => writer.write_char('"').and_then(|()| writer.write_str(value)).and_then(|()| writer.write_char('"')),
            false => write!(writer, "{value:?}"),
        });
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, |writer| write!(writer, "{value}"));
    }
}

/// Passes text on, with control characters as escapes.
struct Tame<'a, 'w>(&'a mut Writer<'w>);

impl Write for Tame<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !text.contains(char::is_control) {
            return self.0.write_str(text);
        }
        text.chars().try_for_each(|letter| match letter.is_control() {
            true => write!(self.0, "{}", letter.escape_default()),
            false => self.0.write_char(letter),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_moment_level_message_and_fields() {
        let kept = Kept::default();
        let writer = kept.clone();
        let plain = Plain(|| Timestamp::from_millis(1_700_000_000_123));
        let log = tracing_subscriber::fmt().event_format(plain).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || {
            let error = io::Error::other("no\u{1b}[2J disk");
            tracing::info!(path = "/v1/tasks", status = 200_u16, ok = true, gone = Some(-1), "request");
            tracing::warn!(name = "quote \" and\nline", %error, "it broke: {}", "\u{7}");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                r#"2023-11-14T22:13:20.123Z  INFO request path="/v1/tasks" status=200 ok=true gone=-1"#,
                r#"2023-11-14T22:13:20.123Z  WARN it broke: \u{7} name="quote \" and\nline" error=no\u{1b}[2J disk"#,
            ]
        );
    }
}
