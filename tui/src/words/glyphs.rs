//! The signs of the interface, each with an ASCII form for `--ascii`. A word follows each sign that carries a meaning.
//! Must not know colours.

/// A one-column sign.
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
    /// The character of the sign, in Unicode or in ASCII.
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
