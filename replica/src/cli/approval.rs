//! Shows on the terminal how a person approves this device in a browser, and waits for it. Must not know profiles.

use hearth_replica::qr_lines;
use hearth_replica::sync::{Begun, DeviceCode, DeviceFlow, DeviceFlowError, machine_name};
use secrecy::SecretString;

use super::failure::{Exit, Failure};
use super::{output, runtime, signals};

/// Lines that are shown besides the QR code.
const OTHER_LINES: usize = 8;

/// What is shown when the server gives no reason.
const NOT_OFFERED: &str = "This server approves no devices in a browser, or is no Hearth server: check the address.";

/// Gets a key for this device from a person in a browser. None: the server approves no devices, and the terminal says why.
pub(super) fn key_by_approval(server: &str) -> Result<Option<SecretString>, Failure> {
    runtime::block_on(async {
        let device = machine_name();
        let mut flow = match DeviceFlow::begin(server, &device).await? {
            Begun::Waiting(flow) => flow,
            Begun::NotOffered(reason) => {
                output::message(reason.as_deref().unwrap_or(NOT_OFFERED));
                return Ok(None);
            }
        };
        // From here on Ctrl-C ends the waiting with a sentence. Before, it ends the program.
        signals::listen()?;
        show(&flow.code, &device);
        tokio::select! {
            key = flow.wait() => Ok(Some(key.map_err(DeviceFlowError::from)?)),
            () = signals::stop_requested() => signals::check_stop().map(|()| None),
        }
    })
}

fn show(code: &DeviceCode, device: &str) {
    output::message(&format!("Approve this device ({device}) in a browser, here or on your phone:"));
    output::message(&format!("\n  {}\n  code  {}\n", code.verification_uri, code.user_code));
    if let Some(lines) = qr_lines(code.address_to_scan()) {
        output::picture(&lines, OTHER_LINES);
    }
    let minutes = code.longest_wait().as_secs().div_ceil(60);
    output::message(&format!("Waiting at most {minutes} min; Ctrl-C ends. To type a key instead: init --ask-key"));
}

impl From<DeviceFlowError> for Failure {
    fn from(error: DeviceFlowError) -> Failure {
        match error {
            DeviceFlowError::Client(error) => error.into(),
            DeviceFlowError::NotApproved(error) => {
                Failure::new(Exit::Key, error.to_string()).hint("hearth-replica init --server URL, to get another code")
            }
        }
    }
}
