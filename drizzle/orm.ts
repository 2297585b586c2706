/**
 * drizzle-orm as it is used here, loaded as CommonJS: of its ES modules Node reads the package's 180 kB description
 * again for each of two hundred files, half a second of processor at every start of a core.
 */
import { createRequire } from 'node:module';

// drizzle-kit, which reads the schema, makes CommonJS of this file itself: there is no import.meta.url.
const load = createRequire(import.meta.url || `${process.cwd()}/drizzle/orm.ts`);

export const {
  and,
  arrayContained,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  ne,
  notExists,
  or,
  sql,
} = load('drizzle-orm') as typeof import('drizzle-orm');
export const {
  alias,
  bigint,
  bigserial,
  boolean,
  check,
  customType,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} = load('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core');
export const { drizzle } = load('drizzle-orm/postgres-js') as typeof import('drizzle-orm/postgres-js');
export const { migrate } = load(
  'drizzle-orm/postgres-js/migrator',
) as typeof import('drizzle-orm/postgres-js/migrator');
