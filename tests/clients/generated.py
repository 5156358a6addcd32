"""Uses the generated client to create, list page by page, patch, read and delete, and to receive refusals."""

import os
import uuid

from hearth_client import AuthenticatedClient
from hearth_client.api.rooms import create_room, delete_room, get_room
from hearth_client.api.tasks import create_task, delete_task, get_task, list_tasks, update_task
from hearth_client.models import (
    DeletedResponse,
    Error,
    RoomCreate,
    RoomResponse,
    TaskCreate,
    TaskList,
    TaskPatch,
    TaskPriority,
    TaskResponse,
    TaskStatus,
)

client = AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["KEY"])

made = create_task.sync(
    client=client,
    body=TaskCreate(title="Sweep the chimney", priority=TaskPriority.HIGH),
    idempotency_key=str(uuid.uuid4()),
)
assert isinstance(made, TaskResponse), made
task = made.data
assert (task.title, task.priority, task.status) == ("Sweep the chimney", TaskPriority.HIGH, TaskStatus.OPEN)

seen: set[uuid.UUID] = set()
cursor: str | None = None
while True:
    page = list_tasks.sync(client=client, limit=20, cursor=cursor) if cursor else list_tasks.sync(client=client, limit=20)
    assert isinstance(page, TaskList), page
    seen.update(record.id for record in page.data)
    cursor = page.meta.page.next_cursor
    if not page.meta.page.has_more:
        break
assert task.id in seen and len(seen) > 20

done = update_task.sync(id=task.id, client=client, body=TaskPatch(status=TaskStatus.DONE), if_match=f'"{task.rev}"')
assert isinstance(done, TaskResponse), done
assert done.data.status == TaskStatus.DONE and done.data.completed_at

stale = update_task.sync(id=task.id, client=client, body=TaskPatch(status=TaskStatus.OPEN), if_match=f'"{task.rev}"')
assert isinstance(stale, Error) and stale.error.type_ == "precondition_failed", stale

gone = delete_task.sync(id=task.id, client=client)
assert isinstance(gone, DeletedResponse) and gone.data.deleted, gone
missing = get_task.sync(id=task.id, client=client)
assert isinstance(missing, Error) and missing.error.type_ == "not_found", missing

room = create_room.sync(client=client, body=RoomCreate(name="Attic"))
assert isinstance(room, RoomResponse), room
read = get_room.sync(id=room.data.id, client=client)
assert isinstance(read, RoomResponse) and read.data.name == "Attic" and read.data.room_type is None
delete_room.sync(id=room.data.id, client=client)
print("the generated client created, listed, patched and deleted")
