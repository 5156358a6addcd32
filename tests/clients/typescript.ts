// Uses the types of openapi-typescript to call the API, and the schemas of orval to check each response and request.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";
import * as checks from "./zod.js";
import assert from "node:assert/strict";

const api = createClient<paths>({
  baseUrl: process.env.URL!,
  headers: { Authorization: `Bearer ${process.env.KEY}` },
  querySerializer: { array: { style: "form", explode: false } },
});

// Creates, with a body that orval's schema accepts.
const body = checks.CreateTaskBody.parse({ title: "Sweep the chimney", priority: "high" });
assert.throws(() => checks.CreateTaskBody.parse({ title: "Sweep", priority: "soon" }));
const made = await api.POST("/v1/tasks", { body, params: { header: { "Idempotency-Key": crypto.randomUUID() } } });
const task = made.data!.data;
assert.deepEqual([task.title, task.priority, task.status], ["Sweep the chimney", "high", "open"]);
checks.CreateTaskResponse.parse(made.data);

// Lists page by page.
const seen = new Set<string>();
for (let cursor: string | undefined; ; ) {
  const { data } = await api.GET("/v1/tasks", { params: { query: { limit: 50, cursor, expand: ["subject"] } } });
  checks.ListTasksResponse.parse(data);
  data!.data.forEach((task) => seen.add(task.id));
  if (!data!.meta.page.has_more) break;
  cursor = data!.meta.page.next_cursor!;
}
assert(seen.size > 50 && seen.has(task.id));

// Patches, once with a condition that holds and once with an old one.
const path = { id: task.id };
const patch = (status: "open" | "done") =>
  api.PATCH("/v1/tasks/{id}", {
    body: { status },
    params: { path, header: { "If-Match": `"${task.rev}"` } },
  });
const done = await patch("done");
assert.equal(checks.UpdateTaskResponse.parse(done.data).data.status, "done");
const stale = await patch("open");
assert.equal(stale.error!.error.type, "precondition_failed");

// The bulk operations of the schema, the condition of each in both forms.
const rev = done.data!.data.rev!;
const operations = checks.BulkTasksBody.parse({
  operations: [
    { method: "create", title: "Clean the gutters" },
    { method: "update", id: task.id, if_match: rev, data: { notes: "Both flues" } },
    { method: "update", id: task.id, if_match: `"${rev}"`, notes: "One flue" },
  ],
});
const bulk = await api.POST("/v1/tasks/bulk", { body: operations });
checks.BulkTasksResponse.parse(bulk.data);
assert.deepEqual(bulk.data!.data.map((result) => result.status), [201, 200, 412]);

// Every other read has the form that orval's schema demands.
const reads = [
  [checks.ListInventoryResponse, api.GET("/v1/inventory", { params: { query: { expand: ["room"] } } })],
  [checks.ListVehiclesResponse, api.GET("/v1/vehicles")],
  [checks.ListDocumentsResponse, api.GET("/v1/documents")],
  [checks.ListRoomsResponse, api.GET("/v1/rooms")],
  [checks.GetPropertyResponse, api.GET("/v1/property")],
  [checks.SearchResponse, api.GET("/v1/search", { params: { query: { q: "furnace", types: ["task", "document"] } } })],
  [checks.ListEventsResponse, api.GET("/v1/events", { params: { query: { limit: 200 } } })],
  [checks.GetMeResponse, api.GET("/v1/me")],
  [checks.GetIndexResponse, api.GET("/v1")],
  [checks.GetMetaResponse, api.GET("/v1/_meta")],
] as const;
for (const [check, read] of reads) check.parse((await read).data);

const gone = await api.DELETE("/v1/tasks/{id}", { params: { path } });
assert.equal(checks.DeleteTaskResponse.parse(gone.data).data.deleted, true);
const missing = await api.GET("/v1/tasks/{id}", { params: { path } });
assert.equal(missing.response.status, 404);
assert.equal(missing.error!.error.type, "not_found");
console.log("created, listed, patched and deleted; every response has the form of its schema");
