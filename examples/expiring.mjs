// What runs out within so many days, and a task for each that has none yet.
// Usage: npm install better-sqlite3; REPLICA=$(hearth-replica path) node expiring.mjs [DAYS]
import Database from 'better-sqlite3';

const days = Number(process.argv[2] ?? 60);
const home = new Database(process.env.REPLICA, { timeout: 5000 });

const soon = home
  .prepare(
    `SELECT expires_on, what, kind, record_id, name FROM expiring
     WHERE expires_on BETWEEN date('now') AND date('now', ?) ORDER BY expires_on`,
  )
  .all(`+${days} days`);

const known = home.prepare('SELECT 1 FROM tasks WHERE title = ?');
const add = home.prepare(
  `INSERT INTO tasks (title, due_on, subject_type, subject_id) VALUES (@title, @due_on, @subject_type, @subject_id)
   RETURNING id`,
);
// A task may be about an item or a vehicle; about a paper it speaks in its title alone.
const subject = (row) =>
  row.kind === 'document' ? [null, null] : [row.kind, row.record_id];

const remind = home.transaction((rows) => {
  let made = 0;
  for (const row of rows) {
    const title = `Renew ${row.what}: ${row.name}`.slice(0, 200);
    if (known.get(title)) continue;
    const [subject_type, subject_id] = subject(row);
    add.get({ title, due_on: row.expires_on, subject_type, subject_id });
    made += 1;
  }
  return made;
});

for (const row of soon) console.log(`${row.expires_on}  ${row.what.padEnd(12)}  ${row.name}`);
console.log(`${soon.length} run out within ${days} days; ${remind(soon)} tasks made`);
home.close();
