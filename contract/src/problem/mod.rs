//! Refusals of the service (contract 12). This file only declares and re-exports:
//!
//! - `problem_type`: the error types with status, meaning and next step.
//! - `field_fault`: what is wrong with single fields.
//! - `refusal`: one refusal with message and details.
//! - `nearest`, `quote`: suggestions for misspelt names, and quoting of long texts.

mod field_fault;
mod nearest;
mod problem_type;
mod quote;
mod refusal;

pub use field_fault::{FAULTS_MAX, FaultCode, FieldFault};
pub use nearest::nearest;
pub use problem_type::{CURSOR_EXPIRED, ProblemType};
pub use quote::{QUOTED_NAME_MAX, shorten};
pub use refusal::Problem;
