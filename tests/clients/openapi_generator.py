"""Uses the Python client of openapi-generator: every field of the deleted record, enums, pages, refusals, bulk calls."""

import os
import uuid

import hearth_client as client
from hearth_client.exceptions import ApiException

configuration = client.Configuration(host=os.environ["URL"], access_token=os.environ["KEY"])


def refusal(call, *arguments, **options) -> tuple[int, str]:
    """The status and the error type of a call that must fail."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert isinstance(error.data, client.Error), error
        return error.status, error.data.error.type
    raise AssertionError("the call did not fail")


with client.ApiClient(configuration) as api:
    tasks = client.TasksApi(api)
    key = str(uuid.uuid4())
    task = tasks.create_task(client.TaskCreate(title="Sweep the chimney", priority="high"), idempotency_key=key).data
    assert (task.priority, task.status) == (client.TaskPriority.HIGH, client.TaskStatus.OPEN)

    page = tasks.list_tasks(limit=20, expand=["subject"])
    seen = {record.id for record in page.data}
    while page.meta.page.has_more:
        page = tasks.list_tasks(limit=20, cursor=page.meta.page.next_cursor)
        seen.update(record.id for record in page.data)
    assert task.id in seen and len(seen) > 20

    done = tasks.update_task(task.id, client.TaskPatch(status="done"), if_match=f'"{task.rev}"').data
    assert done.status == client.TaskStatus.DONE and done.completed_at
    stale = refusal(tasks.update_task, task.id, client.TaskPatch(status="open"), if_match=f'"{task.rev}"')
    assert stale == (412, "precondition_failed")

    operations = [
        client.TaskOperation(method="create", title="Clean the gutters"),
        client.TaskOperation(method="update", id=str(task.id), if_match=client.BulkIfMatch(done.rev), notes="Both"),
        client.TaskOperation(method="delete", id=str(uuid.uuid4())),
    ]
    results = tasks.bulk_tasks(client.TaskBulkRequest(operations=operations)).data
    assert [result.status for result in results] == [201, 200, 200], results

    gone = tasks.delete_task(task.id).data
    assert gone.deleted is True and gone.id == task.id
    assert refusal(tasks.get_task, task.id) == (404, "not_found")

    me = client.AccountApi(api).get_me().data
    assert me.api_version.resolved.value == "2026-06-01", me
    events = client.EventsApi(api).list_events(limit=3).data
    assert [event.id for event in events] == [1, 2, 3] and events[0].api_version == me.api_version.resolved
    versions = client.DiscoveryApi(api).get_meta().data.versions
    assert me.api_version.resolved in [version.version for version in versions]
    assert client.SearchApi(api).search("furnace").data and client.PropertyApi(api).get_property().data
    assert client.InventoryApi(api).list_inventory(expand=["room"]).data
print("created, listed, patched and deleted")
