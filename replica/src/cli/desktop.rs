//! Shows a notification on the desktop of the person who runs the command. Must not know what it says.

/// Shows a notification. Err: a sentence why none was shown, such as a machine without a desktop session.
#[cfg(all(target_os = "linux", feature = "notify"))]
pub(super) fn notify(summary: &str, body: &str) -> Result<(), String> {
    // Desktops read a part of HTML in the body.
    let body = body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let shown = notify_rust::Notification::new().appname("Hearth").summary(summary).body(&body).icon("task-due").show();
    shown.map(drop).map_err(|error| format!("there is no desktop session that shows it ({error})"))
}

/// Shows nothing, because this program was built without notifications.
#[cfg(not(all(target_os = "linux", feature = "notify")))]
pub(super) fn notify(_: &str, _: &str) -> Result<(), String> {
    Err("this program was built without desktop notifications".to_owned())
}
