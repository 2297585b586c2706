/**
 * The role that core has in the embedded PostgreSQL. It owns the database and everything in it, but is no superuser, so
 * that a faulty statement can neither run programs nor read files. A data folder of an earlier release, in which core
 * was the superuser, is migrated.
 */
import { createHmac } from 'node:crypto';
import postgres from 'postgres';

const ROLE = 'slipway_core';

/** Derives the role's password from the superuser's, without revealing it, so that there is only one secret to keep. */
function passwordOf(superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update(ROLE).digest('hex');
}

/**
 * Makes the role the owner of everything in our schemas that it does not own yet. A table includes its indexes and the
 * sequences of its columns. REASSIGN OWNED cannot do this: the superuser that made the cluster also owns the system's
 * own objects.
 */
const TAKE_OVER = `DO $$
  DECLARE given text;
  BEGIN
    FOR given IN
      SELECT format('ALTER SCHEMA %I OWNER TO ${ROLE}', nspname) FROM pg_namespace
        WHERE nspname IN ('public', 'drizzle') AND nspowner <> '${ROLE}'::regrole
    LOOP EXECUTE given; END LOOP;
    FOR given IN
      SELECT format('ALTER TABLE %s OWNER TO ${ROLE}', c.oid::regclass) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('public', 'drizzle') AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relowner <> '${ROLE}'::regrole
    LOOP EXECUTE given; END LOOP;
    FOR given IN
      SELECT format('ALTER SEQUENCE %s OWNER TO ${ROLE}', c.oid::regclass) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('public', 'drizzle') AND c.relkind = 'S' AND c.relowner <> '${ROLE}'::regrole
    LOOP EXECUTE given; END LOOP;
    FOR given IN
      SELECT format('ALTER ROUTINE %s OWNER TO ${ROLE}', p.oid::regprocedure) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname IN ('public', 'drizzle') AND p.proowner <> '${ROLE}'::regrole
    LOOP EXECUTE given; END LOOP;
  END $$`;

/**
 * Makes the role the owner of the database and of everything in it. Takes the superuser's address and returns the
 * role's address for core.
 */
export async function ensureCoreRole(superuserUrl: string): Promise<string> {
  const url = new URL(superuserUrl);
  const password = passwordOf(url.password);
  // A failed statement must not be logged: this one contains a password.
  const sql = postgres(superuserUrl, {
    max: 1,
    onnotice: () => undefined,
    connection: { log_min_error_statement: 'panic' },
  });
  try {
    await sql.begin(async (tx) => {
      const [found] = await tx`SELECT FROM pg_roles WHERE rolname = ${ROLE}`;
      // Utility statements take no parameters. The password is hex digits.
      const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '${password}'`;
      await tx.unsafe(`${found ? 'ALTER' : 'CREATE'} ROLE ${ROLE} ${attributes}`);
      await tx.unsafe(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${ROLE}`);
      await tx.unsafe(TAKE_OVER);
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
  url.username = ROLE;
  url.password = password;
  return url.href;
}
