// Lists dates that expire within DAYS days (default 60) and adds a reminder task for each.
// Needs Node 22.16 or newer, no packages.
// Usage: REPLICA=$(hearth-replica path) node expiring.mjs [DAYS]
import { DatabaseSync } from 'node:sqlite';

const days = Number(process.argv[2] ?? 60);
const home = new DatabaseSync(process.env.REPLICA, { timeout: 5000 });

const soon = home
  .prepare(
    `SELECT expires_on, what, kind, record_id, name FROM expiring
     WHERE expires_on BETWEEN date('now') AND date('now', ?) ORDER BY expires_on`,
  )
  .all(`+${days} days`);

const known = home.prepare('SELECT 1 FROM tasks WHERE title = ?');
const add = home.prepare('INSERT INTO tasks (title, due_on, subject_type, subject_id) VALUES (?, ?, ?, ?)');

let made = 0;
home.exec('BEGIN IMMEDIATE'); // one transaction: all tasks or none
for (const row of soon) {
  const title = `Renew ${row.what}: ${row.name}`.slice(0, 200);
  if (known.get(title)) continue;
  // The subject of a task can be an item or a vehicle, but not a document.
  const about = row.kind === 'document' ? [null, null] : [row.kind, row.record_id];
  add.run(title, row.expires_on, ...about);
  made += 1;
}
home.exec('COMMIT');

for (const row of soon) console.log(`${row.expires_on}  ${row.what.padEnd(12)}  ${row.name}`);
console.log(`${soon.length} run out within ${days} days; ${made} tasks made`);
home.close();
