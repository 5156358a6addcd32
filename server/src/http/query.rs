//! Parses a query string strictly: every parameter is known, occurs once, and has a value (contract 5). Must not know
//! the effect of a parameter.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, QUOTED_NAME_MAX, nearest, shorten};
use percent_encoding::percent_decode_str;

use super::parameters::{PageSize, Parameter};

/// The parameters of a request: only known names, each at most once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Parses a query string. `rewrite` receives each name and value first, and upgrades values of older API versions.
    /// Error: `invalid_request` for a parameter that is unknown, repeated, empty or not UTF-8.
    pub fn parse(text: &str, known: &[Parameter], rewrite: impl Fn(&str, &mut String)) -> Result<Query, Problem> {
        let is_text = |part: &&str| percent_decode_str(part).decode_utf8().is_ok();
        if let Some(part) = text.split('&').find(|part| !is_text(part)) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let message = format!("The parameter `{}` is not UTF-8.", shorten(name, QUOTED_NAME_MAX));
            return Err(Problem::parameter(name, value, None, message).with_fix("Send text as UTF-8, percent-encoded."));
        }
        let sent = form_urlencoded::parse(text.as_bytes()).map(|(name, value)| {
            let mut value = value.into_owned();
            rewrite(&name, &mut value);
            (name.into_owned(), value)
        });
        Query::from_pairs(sent, known)
    }

    /// As [`Query::parse`], from names and values that are already decoded.
    pub fn from_pairs<T: Into<String>>(
        sent: impl IntoIterator<Item = (T, T)>,
        known: &[Parameter],
    ) -> Result<Query, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let names = || known.iter().map(|parameter| parameter.name);
        for (name, value) in sent {
            let (name, value): (String, String) = (name.into(), value.into());
            if !names().any(|known| known == name) {
                let message = format!("There is no parameter `{}` here.", shorten(&name, QUOTED_NAME_MAX));
                let problem = Problem::parameter(&name, &value, nearest(&name, names()), message);
                return Err(if nearest(&name, names()).is_some() {
                    problem
                } else {
                    problem.with_fix(leave_out_hint(known))
                });
            }
            if value.is_empty() {
                return Err(Problem::parameter(&name, "", None, format!("The parameter `{name}` is empty.")));
            }
            if pairs.iter().any(|(seen, _)| *seen == name) {
                return Err(Problem::parameter(&name, &value, None, format!("The parameter `{name}` is there twice.")));
            }
            pairs.push((name, value));
        }
        Ok(Query { pairs })
    }

    /// The value of a parameter. None: the parameter is absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The parameter `limit`: a number from 1 to `max`, or the default.
    pub fn limit(&self, PageSize { default, max }: PageSize) -> Result<usize, Problem> {
        let Some(value) = self.get("limit") else { return Ok(default) };
        match value.parse() {
            Ok(limit) if (1..=max).contains(&limit) && value.bytes().all(|b| b.is_ascii_digit()) => Ok(limit),
            _ => Err(Problem::parameter("limit", value, None, format!("limit must be a number from 1 to {max}."))),
        }
    }

    /// A revision: an integer from 0.
    pub fn revision(&self, name: &str) -> Result<Option<i64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.parse() {
            Ok(revision) if value.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Some(revision)),
            _ => Err(Problem::parameter(name, value, None, format!("{name} must be a revision: a number from 0."))),
        }
    }

    /// The meaning of a parameter with one of several words.
    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == value) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(unknown_choice(name, value, words)),
        }
    }

    /// The meanings of a comma-separated list of words. Repeated words count once.
    pub fn choices<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Vec<T>, Problem> {
        let mut seen = Vec::new();
        let mut meanings = Vec::new();
        for value in self.get(name).into_iter().flat_map(|list| list.split(',')) {
            let Some((word, meaning)) = words.iter().find(|(word, _)| *word == value) else {
                return Err(unknown_choice(name, value, words));
            };
            if !seen.contains(word) {
                seen.push(word);
                meanings.push(*meaning);
            }
        }
        Ok(meanings)
    }

    /// A date or an RFC 3339 date-time. A date means midnight UTC.
    pub fn moment(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match Timestamp::parse_rounded_up(value) {
            Some(moment) => Ok(Some(moment)),
            None => {
                let message = format!("{name} must be a date (2026-06-01) or an RFC 3339 date-time.");
                Err(Problem::parameter(name, value, None, message))
            }
        }
    }
}

fn leave_out_hint(known: &[Parameter]) -> String {
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    match names.is_empty() {
        true => "Leave it out: there are no parameters here.".to_owned(),
        false => format!("Leave it out; what is known here: {}.", names.join(", ")),
    }
}

fn unknown_choice<T>(name: &str, value: &str, words: &[(&str, T)]) -> Problem {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let message = format!("{name} must be one of {}.", known.join(", "));
    Problem::parameter(name, value, nearest(value, known.iter().copied()), message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::parameters::{LIMIT, RECORDS_PAGE, SORT};

    #[test]
    fn wrong_parameter_is_refused_and_named() {
        for (text, parameter, nearest) in [
            ("limt=5", "limt", Some("limit")),
            ("limit=", "limit", None),
            ("limit=5&limit=5", "limit", None),
            ("sort=creatd_at", "sort", Some("created_at")),
            ("limit=0", "limit", None),
            ("limit=101", "limit", None),
            ("limit=+5", "limit", None),
        ] {
            let refusal = Query::parse(text, &[LIMIT, SORT], |_, _| ()).and_then(|query| {
                query.limit(RECORDS_PAGE)?;
                query.choice("sort", &[("created_at", ()), ("updated_at", ())])
            });
            let details = refusal.unwrap_err().details;
            assert_eq!(details["parameter"], parameter, "{text}");
            assert_eq!(details["nearest"].as_str(), nearest, "{text}");
        }
    }
}
