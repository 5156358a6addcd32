//! Uses the Rust client of openapi-generator: creates, lists, patches and deletes, and receives refusals.

use hearth_client::apis::configuration::Configuration;
use hearth_client::apis::events_api::ListEventsParams;
use hearth_client::apis::tasks_api::{self, CreateTaskParams, DeleteTaskParams, GetTaskParams, UpdateTaskParams};
use hearth_client::apis::{Error, account_api, events_api};
use hearth_client::models::{TaskCreate, TaskPatch, TaskPriority, TaskStatus};

/// The value of an environment variable.
fn variable(name: &str) -> String {
    std::env::var(name).expect("an environment variable")
}

/// The status of a refusal.
fn refused<T>(error: Error<T>) -> u16 {
    match error {
        Error::ResponseError(response) => response.status.as_u16(),
        other => panic!("{other}"),
    }
}

fn main() {
    let server = Configuration {
        base_path: variable("URL"),
        bearer_access_token: Some(variable("KEY")),
        ..Configuration::new()
    };

    let task_create =
        TaskCreate { priority: Some(TaskPriority::High), ..TaskCreate::new("Sweep the chimney".to_owned()) };
    let params = CreateTaskParams { task_create, service_api_version: None, idempotency_key: Some("sweep".to_owned()) };
    let task = *tasks_api::create_task(&server, params).expect("a task").data;
    assert_eq!((task.priority, task.status), (Some(TaskPriority::High), Some(TaskStatus::Open)));

    let me = account_api::get_me(&server, account_api::GetMeParams { service_api_version: None }).expect("the key");
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let params = ListEventsParams { cursor, limit: Some(200), types: None, service_api_version: None };
        let page = events_api::list_events(&server, params).expect("a page");
        assert!(page.data.iter().all(|event| event.api_version == me.data.api_version.resolved));
        seen.extend(page.data.into_iter().map(|event| event.resource_id));
        if !page.meta.page.has_more {
            break;
        }
        cursor = page.meta.page.next_cursor;
    }
    assert!(seen.len() > 200 && seen.contains(&task.id));

    let id = task.id.to_string();
    let rev = format!("\"{}\"", task.rev.expect("a revision"));
    let patch = |status| UpdateTaskParams {
        id: id.clone(),
        task_patch: TaskPatch { status: Some(status), ..TaskPatch::new() },
        service_api_version: None,
        idempotency_key: None,
        if_match: Some(rev.clone()),
        if_none_match: None,
    };
    let done = tasks_api::update_task(&server, patch(TaskStatus::Done)).expect("the task");
    assert_eq!(done.data.status, Some(TaskStatus::Done));
    assert_eq!(tasks_api::update_task(&server, patch(TaskStatus::Open)).map_err(refused).unwrap_err(), 412);

    let params = DeleteTaskParams {
        id: id.clone(),
        service_api_version: None,
        idempotency_key: None,
        if_match: None,
        if_none_match: None,
    };
    assert!(tasks_api::delete_task(&server, params).expect("an answer").data.deleted);
    let params = GetTaskParams { id, fields: None, expand: None, service_api_version: None, if_none_match: None };
    assert_eq!(tasks_api::get_task(&server, params).map_err(refused).unwrap_err(), 404);

    println!("created, listed, patched and deleted");
}
