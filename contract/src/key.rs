//! The text form of API keys (contract 11) and of partner tokens (contract 20): prefix, 256 random bits in base62,
//! checksum. Must not know a source of random numbers: the bits are an argument.

/// The environment of a key: the home of the team that the key reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Environment {
    /// The live home.
    Live,
    /// The sandbox home.
    Test,
}

impl Environment {
    /// The word in key texts and responses: `live` or `test`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Environment::Live => "live",
            Environment::Test => "test",
        }
    }

    /// The environment with this word.
    pub fn parse(word: &str) -> Option<Environment> {
        [Environment::Live, Environment::Test].into_iter().find(|environment| environment.as_str() == word)
    }

    /// The first characters of a key of this environment.
    pub const fn prefix(self) -> &'static str {
        match self {
            Environment::Live => "svc_live_",
            Environment::Test => "svc_test_",
        }
    }
}

/// The two tokens of a partner's grant, and the token of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Calls the API, for an hour.
    Access,
    /// Gets new tokens.
    Refresh,
    /// Reads one calendar, in an address that calendar programs keep (contract 23).
    Calendar,
}

impl TokenKind {
    /// The first characters of a token of this kind.
    pub const fn prefix(self) -> &'static str {
        match self {
            TokenKind::Access => "svc_oat_",
            TokenKind::Refresh => "svc_ort_",
            TokenKind::Calendar => "svc_cal_",
        }
    }
}

/// The prefixes of all secrets in this form.
const PREFIXES: [&str; 5] = [
    Environment::Live.prefix(),
    Environment::Test.prefix(),
    TokenKind::Access.prefix(),
    TokenKind::Refresh.prefix(),
    TokenKind::Calendar.prefix(),
];

/// Whether a text contains the prefix of a key or token. Such a text must not be logged or shown.
pub fn holds_key(text: &str) -> bool {
    PREFIXES.iter().any(|prefix| text.contains(prefix))
}

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Base62 digits of the random part.
const RANDOM_DIGITS: usize = 43;
/// Base62 digits of the checksum.
const CHECK_DIGITS: usize = 6;

/// Characters at the start of a key that a hint may show: enough to tell keys apart.
pub const HINT_START: usize = 12;
/// Characters at the end of a key that a hint may show.
pub const HINT_END: usize = 4;

/// First and last characters of a key or token, for people who compare keys.
pub fn hint_of(secret: &str) -> String {
    format!("{}…{}", &secret[..HINT_START], &secret[secret.len() - HINT_END..])
}

/// The text of a key made from random bytes.
pub fn key_text(environment: Environment, entropy: [u8; 32]) -> String {
    secret_text(environment.prefix(), entropy)
}

/// The environment of a well-formed key. None: the form or the checksum is wrong. A well-formed key may still be unknown
/// to the server.
pub fn parse_key(text: &str) -> Option<Environment> {
    let environment = [Environment::Live, Environment::Test].into_iter().find(|e| text.starts_with(e.prefix()))?;
    parse_secret(environment.prefix(), text).map(|_| environment)
}

/// The text of a token made from random bytes.
pub fn token_text(kind: TokenKind, entropy: [u8; 32]) -> String {
    secret_text(kind.prefix(), entropy)
}

/// The random bytes of a well-formed token of a kind. None: the form or the checksum is wrong.
pub fn parse_token(kind: TokenKind, text: &str) -> Option<[u8; 32]> {
    parse_secret(kind.prefix(), text)
}

fn secret_text(prefix: &str, entropy: [u8; 32]) -> String {
    let mut text = String::from(prefix);
    push_base62(&mut text, entropy, RANDOM_DIGITS);
    let sum = checksum(&text);
    text.push_str(&sum);
    text
}

fn parse_secret(prefix: &str, text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(prefix)?;
    if digits.len() != RANDOM_DIGITS + CHECK_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let (body, sum) = text.split_at(text.len() - CHECK_DIGITS);
    if checksum(body) != sum {
        return None;
    }
    parse_base62(&digits[..RANDOM_DIGITS])
}

/// The checksum of a text: CRC32 in base62.
fn checksum(text: &str) -> String {
    let mut out = String::new();
    push_base62(&mut out, crc32fast::hash(text.as_bytes()).to_be_bytes(), CHECK_DIGITS);
    out
}

/// Appends a big-endian number in base62: most significant digit first, padded with `0` to `width` digits.
fn push_base62<const N: usize>(out: &mut String, mut number: [u8; N], width: usize) {
    let mut digits = vec![b'0'; width];
    for digit in digits.iter_mut().rev() {
        let mut rest = 0u32;
        for byte in number.iter_mut() {
            let value = (rest << 8) | u32::from(*byte);
            *byte = (value / 62) as u8;
            rest = value % 62;
        }
        *digit = DIGITS[rest as usize];
    }
    out.extend(digits.into_iter().map(char::from));
}

/// The big-endian number of base62 digits. None: another character, or a number beyond 256 bits.
fn parse_base62(digits: &str) -> Option<[u8; 32]> {
    let mut number = [0; 32];
    for digit in digits.bytes() {
        let mut carry = DIGITS.iter().position(|known| *known == digit)? as u32;
        for byte in number.iter_mut().rev() {
            let value = u32::from(*byte) * 62 + carry;
            *byte = value as u8;
            carry = value >> 8;
        }
        if carry > 0 {
            return None;
        }
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_text_gives_its_bytes_back() {
        let bytes: [u8; 32] = std::array::from_fn(|at| at as u8 * 7);
        for entropy in [[0; 32], [0xff; 32], bytes] {
            for kind in [TokenKind::Access, TokenKind::Refresh, TokenKind::Calendar] {
                let text = token_text(kind, entropy);
                assert_eq!(text.len(), "svc_oat_".len() + 49);
                assert_eq!(parse_token(kind, &text), Some(entropy));
            }
        }
        assert_eq!(parse_token(TokenKind::Refresh, &token_text(TokenKind::Access, bytes)), None);
        assert!(holds_key("?token=svc_ort_x"));
        assert_eq!(parse_base62(&"z".repeat(RANDOM_DIGITS)), None, "beyond 256 bits");
    }

    #[test]
    fn key_text_parses_with_checksum() {
        let text = key_text(Environment::Test, [0xff; 32]);
        assert_eq!(text.len(), "svc_test_".len() + 49);
        assert_eq!(parse_key(&text), Some(Environment::Test));
        assert!(key_text(Environment::Live, [0; 32]).starts_with(&format!("svc_live_{}", "0".repeat(43))));
    }

    #[test]
    fn changed_key_text_is_refused() {
        let text = key_text(Environment::Live, [7; 32]);
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            assert_eq!(parse_key(&String::from_utf8(bytes).unwrap()), None, "changed at {at}");
        }
        assert_eq!(parse_key(&text[..text.len() - 1]), None);
        assert_eq!(parse_key(""), None);
    }
}
