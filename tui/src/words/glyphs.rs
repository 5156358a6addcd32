//! The signs of the interface, each with a plain ASCII form for `--ascii`. A sign never stands alone: a word follows it
//! wherever it says something. Must not know colours.

/// Something that is said by one sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table below shows each")]
pub enum Sign {
    Live,
    Offline,
    Working,
    Breathing,
    Waiting,
    NeedsYou,
    News,
    Paused,
    Open,
    Started,
    Done,
    Urgent,
    High,
    Medium,
    Low,
    Selected,
    Marked,
    Ascending,
    Descending,
    Previous,
    Next,
    Cut,
    Dot,
    Unset,
    Rule,
    Divider,
    Thumb,
    Fault,
}

impl Sign {
    /// The sign, in Unicode or in ASCII.
    pub const fn text(self, ascii: bool) -> &'static str {
        let (unicode, plain) = match self {
            Sign::Live => ("●", "*"),
            Sign::Offline => ("○", "o"),
            Sign::Working => ("◌", "~"),
            Sign::Breathing => ("◍", "-"),
            Sign::Waiting => ("▲", "^"),
            Sign::NeedsYou => ("!", "!"),
            Sign::News => ("•", "*"),
            Sign::Paused => ("‖", "="),
            Sign::Open => ("○", "o"),
            Sign::Started => ("◐", "~"),
            Sign::Done => ("✓", "x"),
            Sign::Urgent => ("▲", "^"),
            Sign::High => ("△", "+"),
            Sign::Medium => ("·", "."),
            Sign::Low => ("▽", "-"),
            Sign::Selected => ("▌", ">"),
            Sign::Marked => ("◆", "*"),
            Sign::Ascending => ("↑", "^"),
            Sign::Descending => ("↓", "v"),
            Sign::Previous => ("‹", "<"),
            Sign::Next => ("›", ">"),
            Sign::Cut => ("…", "~"),
            Sign::Dot => ("·", "-"),
            Sign::Unset => ("–", "-"),
            Sign::Rule => ("─", "-"),
            Sign::Divider => ("│", "|"),
            Sign::Thumb => ("┃", "#"),
            Sign::Fault => ("✗", "x"),
        };
        if ascii { plain } else { unicode }
    }
}

/// How much a thing wants to be seen. Views turn it into the terminal's own colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As the rest.
    Plain,
    /// Less than the rest.
    Quiet,
    /// All is well.
    Good,
    /// Under way, or soon.
    Notice,
    /// Wants a person.
    Alarm,
}
