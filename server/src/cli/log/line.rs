//! A line of the log as plain text: time, level, message, and fields as `name=value`. The format equals that of tracing,
//! at a fraction of its cost: no styles, and no formatting of values that are text. Must not know the content of a line.

use std::fmt::{self, Write};

use hearth_contract::formats::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats lines with the time of a clock.
pub(super) struct PlainText(pub(super) fn() -> Timestamp);

impl<S, N> FormatEvent<S, N> for PlainText
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
    fn write_field(&mut self, field: &Field, write: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
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
        // Messages and errors may quote foreign text, and control characters must not reach a terminal.
        self.write_field(field, |writer| write!(Escaped(writer), "{value:?}"));
    }

    /// Writes a text in quotes, with escapes for all characters outside of printable ASCII.
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        self.write_field(field, |writer| match value.bytes().all(is_plain) {
            true => writer.write_char('"').and_then(|()| writer.write_str(value)).and_then(|()| writer.write_char('"')),
            false => write!(writer, "{value:?}"),
        });
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.write_field(field, |writer| write!(writer, "{value}"));
    }
}

/// Writes text with escapes for control characters.
struct Escaped<'a, 'w>(&'a mut Writer<'w>);

impl Write for Escaped<'_, '_> {
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
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn line_has_time_level_message_fields() {
        let captured = Captured::default();
        let writer = captured.clone();
        let format = PlainText(|| Timestamp::from_millis(1_700_000_000_123));
        let log = tracing_subscriber::fmt().event_format(format).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || {
            let error = io::Error::other("no\u{1b}[2J disk");
            tracing::info!(path = "/v1/tasks", status = 200_u16, ok = true, gone = Some(-1), "request");
            tracing::warn!(name = "quote \" and\nline", %error, "it broke: {}", "\u{7}");
        });
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
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
