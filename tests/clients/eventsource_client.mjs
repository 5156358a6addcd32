// Follows the stream until this number of events has arrived, each once and in order. Writes the number of connections
// to a file.
import { writeFileSync } from "node:fs";
import { EventSource } from "eventsource";

const [wanted, connectionsFile] = [Number(process.argv[2]), process.argv[3]];
const authorization = `Bearer ${process.env.KEY}`;
const seen = new Set();
let last = 0;
let opened = 0;
let heartbeats = 0;

const source = new EventSource(`${process.env.URL}/v1/events/stream`, {
  fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, authorization } }),
});
const fail = (reason) => {
  console.error(reason);
  process.exit(1);
};

source.addEventListener("ready", () => writeFileSync(connectionsFile, String((opened += 1))));
source.addEventListener("heartbeat", (heartbeat) => {
  if (JSON.parse(heartbeat.data).cursor !== heartbeat.lastEventId) fail(`the heartbeat ${heartbeat.data} has another id`);
  heartbeats += 1;
});
source.addEventListener("error", () => {
  if (source.readyState === EventSource.CLOSED) fail("the client gave up the stream");
});
source.addEventListener("message", (message) => {
  const event = JSON.parse(message.data);
  if (event.id <= last) fail(`event ${event.id} came after ${last}`);
  if (seen.has(event.resource_id)) fail(`${event.resource_id} came twice`);
  last = event.id;
  seen.add(event.resource_id);
  if (seen.size === wanted) {
    if (heartbeats === 0) fail("no heartbeat came");
    console.log(`${wanted} events, each once, over ${opened} connections; ${heartbeats} heartbeats`);
    process.exit(0);
  }
});
