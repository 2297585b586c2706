/** Each migration says whether earlier releases run on the database after it, and none says so wrongly. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { journalOf, MIGRATIONS_FOLDER } from '@slipway/core/store/sql/journal';
import { FIRST_STATED, neededBy, neededMigration, parseStatement } from '@slipway/core/store/sql/rollback-statement';
import t from 'tap';
import { hasPreviousRelease, PREVIOUS_COMMIT } from '../../../helpers/system/previous-release.ts';
import { breakingChanges } from './breaking-changes.ts';

const read = (tag: string): string => readFileSync(`${MIGRATIONS_FOLDER}/${tag}.sql`, 'utf8');

t.test('every migration has a statement (drizzle/README.md says how to write it)', async (t) => {
  for (const { tag } of journalOf().slice(FIRST_STATED)) t.ok(parseStatement(read(tag)), tag);
  t.ok(neededMigration().schema > 0);
});

t.test('one that says yes removes nothing and demands nothing of earlier releases', async (t) => {
  for (const { tag } of journalOf().slice(FIRST_STATED))
    if (parseStatement(read(tag))?.is === 'yes') t.same(breakingChanges(read(tag)), [], tag);
});

t.test('changes that break earlier releases are recognized', async (t) => {
  for (const sql of [
    'DROP TABLE "job";',
    'ALTER TABLE "job" DROP COLUMN "x";',
    'ALTER TABLE "job" RENAME COLUMN "x" TO "y";',
    'ALTER TABLE "job" ALTER COLUMN "x" SET NOT NULL;',
    'ALTER TABLE "job" ALTER COLUMN "x" SET DATA TYPE integer;',
    'ALTER TABLE "job" ADD COLUMN "x" text NOT NULL;',
    'ALTER TABLE "job" ADD CONSTRAINT "c" CHECK ("job"."old" > 0);',
    'ALTER TABLE "job" ADD COLUMN "x" text;--> statement-breakpoint\n' +
      'ALTER TABLE "job" ADD CONSTRAINT "c" CHECK ("job"."x" > "job"."old");',
    'CREATE UNIQUE INDEX "i" ON "job" USING btree ("x");',
  ])
    t.equal(breakingChanges(sql).length, 1, sql);
  // Migrations of the 0.3 line only add.
  for (const { tag } of journalOf().slice(48, FIRST_STATED)) t.same(breakingChanges(read(tag)), [], tag);
});

const hasPrevious = await hasPreviousRelease();
t.comment(hasPrevious ? `previous release: ${PREVIOUS_COMMIT}` : `this clone has no ${PREVIOUS_COMMIT}`);
if (hasPrevious)
  t.test('the previous release may run on the database: it serves while the first new core migrates', async (t) => {
    const file = `${PREVIOUS_COMMIT}:drizzle/migrations/meta/_journal.json`;
    const journal = execFileSync('git', ['show', file], { cwd: import.meta.dirname, encoding: 'utf8' });
    const { when, tag } = (JSON.parse(journal) as { entries: { when: number; tag: string }[] }).entries.at(-1)!;
    const { schema, name, reason } = neededMigration();
    t.ok(schema <= when, `${name} is needed (${reason}), and the previous release has ${tag}`);
  });

t.test('a database needs the oldest schema that all its migrations allow', async (t) => {
  const migrations = Array.from({ length: FIRST_STATED + 4 }, (_, n) => ({ when: n, tag: `${pad(n)}_x` }));
  const needed = (...statements: string[]) =>
    neededBy(migrations.slice(0, FIRST_STATED + statements.length), (tag) => statements[Number(tag.slice(0, 4)) - 55]!);
  const yes = '-- Rollback: yes.\nSELECT 1;';
  t.match(needed(yes, yes), { schema: 54 });
  t.match(needed(yes, '-- Rollback: no. Reason: a column is gone.', yes), { schema: 56, reason: 'a column is gone.' });
  const to = '-- Rollback: to 0055_x and later. Reason: 0055 stopped reading the column.';
  t.match(needed(yes, yes, to), { schema: 55, name: '0055_x' });
  t.match(needed(yes, '-- Rollback: no. Reason: r.', to), { schema: 56, reason: 'r.' }, 'the strictest counts');
  t.throws(() => needed('SELECT 1;'), /does not begin with a statement/);
  t.throws(() => needed('-- Rollback: no.'), /does not begin with a statement/, 'without a reason');
  t.throws(() => needed('-- Rollback: to 0057_x and later. Reason: r.'), /does not exist before it/);
});

t.test('the page about rollbacks names migrations that exist, and says of them what they say', async (t) => {
  const page = readFileSync(new URL('../../../../docs/operate/upgrade.md', import.meta.url), 'utf8');
  const tags = journalOf().map(({ tag }) => tag);
  for (const tag of page.match(/\b\d{4}_\w+/g)!) t.ok(tags.includes(tag), tag);
  const [, from, to] = /those from (\w+) to (\w+) all say yes/.exec(page)!;
  for (const tag of tags.slice(tags.indexOf(from!), tags.indexOf(to!) + 1))
    t.same(parseStatement(read(tag)), { is: 'yes' }, tag);
});

function pad(number: number): string {
  return String(number).padStart(4, '0');
}
