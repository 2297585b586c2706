/** Finds statements of a migration after which a core of an earlier release could fail on the database. */

/** Statements that take something away, or that demand something of rows that earlier releases write. */
const RULES: readonly [change: string, form: RegExp][] = [
  ['drops a table', /^DROP TABLE\b/i],
  ['drops a column', /^ALTER TABLE\b.*\bDROP COLUMN\b/i],
  ['renames', /^ALTER\b.*\bRENAME\b/i],
  ['changes the type of a column', /^ALTER TABLE\b.*\bALTER COLUMN\b.*\b(SET DATA )?TYPE\b/i],
  ['demands a value in a column', /^ALTER TABLE\b.*\bALTER COLUMN\b.*\bSET NOT NULL\b/i],
  ['drops a default', /^ALTER TABLE\b.*\bDROP DEFAULT\b/i],
  ['adds a column that demands a value', /^ALTER TABLE\b.*\bADD COLUMN\b(?!.*\bDEFAULT\b).*\bNOT NULL\b/i],
  ['drops a function or a trigger', /^DROP (FUNCTION|TRIGGER)\b/i],
  ['drops a unique index that ON CONFLICT may name', /^DROP INDEX\b.*unique/i],
];
const CONSTRAINT = /^ALTER TABLE "(\w+)" ADD CONSTRAINT "\w+" (.*)$/is;
const UNIQUE = /^CREATE UNIQUE INDEX "\w+" ON "(\w+)"/i;

/** Returns what each such statement does. */
export function breakingChanges(sql: string): string[] {
  const statements = sql.split('--> statement-breakpoint').map((statement) =>
    statement
      .replaceAll(/^--.*$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const made = new Set(statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/i.exec(statement)?.[1] ?? []));
  const added = statements.flatMap(
    (statement) => /^ALTER TABLE "(\w+)" ADD COLUMN "(\w+)"/i.exec(statement)?.slice(1, 3).join('.') ?? [],
  );
  return statements.flatMap((statement) => {
    const found = RULES.filter(([, form]) => form.test(statement)).map(([change]) => change);
    const [, unique] = UNIQUE.exec(statement) ?? [];
    if (unique !== undefined && !made.has(unique)) found.push('demands unique rows of a table that was there');
    const [, table, demand] = CONSTRAINT.exec(statement) ?? [];
    const isNew = table !== undefined && (made.has(table) || isOfAdded(demand!, table, added));
    if (table !== undefined && !isNew) found.push('adds a constraint to columns that were there');
    return found.map((change) => `${change}: ${statement.slice(0, 100)}`);
  });
}

/** Returns whether a constraint names only columns that the same migration adds. */
function isOfAdded(demand: string, table: string, added: readonly string[]): boolean {
  const own = demand.split(' REFERENCES ')[0]!;
  const columns = [...own.matchAll(/"(\w+)"/g)].map(([, name]) => name!).filter((name) => name !== table);
  return columns.length > 0 && columns.every((name) => added.includes(`${table}.${name}`));
}
