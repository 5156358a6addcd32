//! One refusal with its message, next step and details. Must not know why a request is refused or how a response is
//! sent.

use serde_json::{Map, Value, json};

use super::field_fault::{FAULTS_MAX, FieldFault};
use super::problem_type::ProblemType;
use super::quote::{QUOTED_NAME_MAX, QUOTED_VALUE_MAX, shorten};

/// One refusal, ready to be written into a response (contract 12).
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The error type, which gives the HTTP status.
    pub kind: ProblemType,
    /// One sentence about this case.
    pub message: String,
    /// The next step for this case. None: [`ProblemType::fix`] holds.
    pub fix: Option<String>,
    /// The members of `error.details`.
    pub details: Map<String, Value>,
}

impl Problem {
    /// A refusal with a message and empty details.
    pub fn new(kind: ProblemType, message: impl Into<String>) -> Problem {
        Problem { kind, message: message.into(), fix: None, details: Map::new() }
    }

    /// Adds a member to `error.details`.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Replaces the next step of the type by a particular one.
    pub fn with_fix(mut self, fix: impl Into<String>) -> Problem {
        self.fix = Some(fix.into());
        self
    }

    /// The 422 for the faults of a body (contract 12), in their order. Reports at most [`FAULTS_MAX`] faults; more
    /// faults than that mean that the checker stopped early.
    pub fn validation(faults: &[FieldFault]) -> Problem {
        let message = match faults {
            [only] => only.message.clone(),
            _ if faults.len() > FAULTS_MAX => format!("More than {FAULTS_MAX} fields break a rule."),
            _ => format!("{} fields break a rule.", faults.len()),
        };
        let fields: Vec<Value> = faults.iter().take(FAULTS_MAX + 1).map(FieldFault::to_value).collect();
        let problem = Problem::new(ProblemType::ValidationFailed, message).with("fields", fields);
        problem.limit_faults(FAULTS_MAX)
    }

    /// The number of field faults in `details`; 0 for a type without field faults.
    pub fn fault_count(&self) -> usize {
        self.details.get("fields").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Keeps the first `most` field faults. If faults are dropped, the message says so.
    pub fn limit_faults(mut self, most: usize) -> Problem {
        if self.kind != ProblemType::ValidationFailed {
            return self;
        }
        let Some(Value::Array(fields)) = self.details.get_mut("fields") else { return self };
        if fields.len() > most {
            fields.truncate(most);
            let listed = if most == 1 { "the first is".to_owned() } else { format!("the first {most} are") };
            let summary = self.message.split(['.', ';']).next().unwrap_or_default();
            self.message = format!("{summary}; {listed} listed.");
        }
        self
    }

    /// The 400 for a bad query parameter or header (contract 5). `nearest` is the nearest known name or value.
    pub fn parameter(parameter: &str, value: &str, nearest: Option<&str>, message: impl Into<String>) -> Problem {
        let problem = Problem::new(ProblemType::InvalidRequest, message)
            .with("parameter", shorten(parameter, QUOTED_NAME_MAX))
            .with("value", shorten(value, QUOTED_VALUE_MAX))
            .with("nearest", nearest.map_or(Value::Null, Value::from));
        match nearest {
            Some(nearest) => problem.with_fix(format!("Did you mean `{nearest}`?")),
            None => problem,
        }
    }

    /// The error object: the value of the envelope's `error` member. `base_url` begins `doc_url`, without a slash at the
    /// end.
    pub fn to_value(&self, base_url: &str) -> Value {
        json!({
            "type": self.kind.as_str(),
            "message": self.message,
            "fix": self.fix.as_deref().unwrap_or(self.kind.fix()),
            "doc_url": format!("{base_url}/docs/errors/{}", self.kind.as_str()),
            "details": self.details,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::field_fault::FaultCode;
    use super::*;

    #[test]
    fn validation_lists_at_most_100_faults() {
        let faults =
            |count: usize| vec![FieldFault::new("é".repeat(65), FaultCode::UnknownField, "No such field."); count];
        for (count, listed, message) in [
            (1, 1, "No such field."),
            (100, 100, "100 fields break a rule."),
            (101, 100, "More than 100 fields break a rule; the first 100 are listed."),
            (5000, 100, "More than 100 fields break a rule; the first 100 are listed."),
        ] {
            let problem = Problem::validation(&faults(count));
            assert_eq!((problem.fault_count(), &problem.message[..]), (listed, message));
            assert_eq!(problem.details["fields"][0]["field"], "é".repeat(64) + "…");
        }
        let one = Problem::validation(&faults(7)).limit_faults(1);
        assert_eq!((one.fault_count(), &one.message[..]), (1, "7 fields break a rule; the first is listed."));
        let two = Problem::validation(&faults(101)).limit_faults(2);
        assert_eq!(two.message, "More than 100 fields break a rule; the first 2 are listed.");
    }
}
