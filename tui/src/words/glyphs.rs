//! The signs of the interface, each with an ASCII form for `--ascii`. A word follows each sign that carries a meaning.
//! Must not know colours.

/// Declares the signs with their characters.
macro_rules! signs {
    ($($name:ident $unicode:literal $ascii:literal,)+) => {
        /// A one-column sign.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the table below shows each")]
        pub enum Sign {
            $($name,)+
        }

        impl Sign {
            /// Every sign, in the order of the table.
            pub const ALL: &'static [Sign] = &[$(Sign::$name),+];

            /// The character of the sign, in Unicode or in ASCII.
            pub const fn text(self, ascii: bool) -> &'static str {
                let (unicode, plain) = match self {
                    $(Sign::$name => ($unicode, $ascii),)+
                };
                if ascii { plain } else { unicode }
            }
        }
    };
}

// No character has two meanings. In ASCII, the typographic signs from `Selected` on may repeat a character.
signs! {
    Live "●" "*",
    Offline "□" "_",
    Local "⌂" "@",
    Working "◌" "~",
    Breathing "◍" "-",
    Waiting "▲" "^",
    NeedsYou "!" "!",
    News "✶" "+",
    Paused "‖" "=",
    Open "○" "o",
    Started "◐" "%",
    Done "✓" "x",
    Urgent "█" "A",
    High "▆" "B",
    Medium "▄" "C",
    Low "▂" "D",
    Due "•" "d",
    Ends "┤" "e",
    Fault "✗" "X",
    FileHere "▣" "h",
    FileAway "▽" "v",
    Marked "◆" "&",
    Ascending "↑" "/",
    Descending "↓" "\\",
    Selected "▌" ">",
    Previous "‹" "<",
    Next "›" ">",
    Cut "…" "~",
    Dot "·" "-",
    Unset "–" "-",
    Rule "─" "-",
    Divider "│" "|",
    Thumb "┃" "#",
}

/// The sign of a choice of a task: its status or its priority. None: the choice has no sign.
pub fn choice_sign(field: &str, word: &str) -> Option<Sign> {
    Some(match (field, word) {
        ("status", "open") => Sign::Open,
        ("status", "in_progress") => Sign::Started,
        ("status", "done") => Sign::Done,
        ("priority", "urgent") => Sign::Urgent,
        ("priority", "high") => Sign::High,
        ("priority", "medium") => Sign::Medium,
        ("priority", "low") => Sign::Low,
        _ => return None,
    })
}

/// How strongly a text stands out. The theme turns a tone into colours and weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// Less important than ordinary text.
    Quiet,
    /// Success.
    Good,
    /// Work in progress, or a deadline within days.
    Notice,
    /// A person must act.
    Alarm,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sign_has_its_own_character() {
        let first_typographic = Sign::ALL.iter().position(|sign| *sign == Sign::Selected).unwrap();
        for (number, sign) in Sign::ALL.iter().enumerate() {
            for other in &Sign::ALL[..number] {
                assert_ne!(sign.text(false), other.text(false), "{sign:?} and {other:?}");
                if number < first_typographic && (*sign, *other) != (Sign::Breathing, Sign::Working) {
                    assert_ne!(sign.text(true), other.text(true), "{sign:?} and {other:?} in ASCII");
                }
            }
        }
    }
}
