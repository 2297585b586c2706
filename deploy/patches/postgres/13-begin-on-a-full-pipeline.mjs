// Begins a transaction as the hundredth statement that one connection sends ahead. DATABASE_URL names a PostgreSQL.
import postgres from 'postgres';

const AHEAD = 100;
const sql = postgres(process.env.DATABASE_URL, { max: 1 });
let faults = 0;
for (let before = AHEAD - 2; before <= AHEAD + 2; before += 1) {
  await sql`SELECT 1`;
  const others = Array.from({ length: before }, () => sql`SELECT 1`.execute());
  const outcome = await sql
    .begin((tx) => tx`SELECT 2`)
    .then(
      () => 'committed',
      (error) => error.message,
    );
  await Promise.all(others);
  // Two statements of a connection outside of a transaction have two transactions' times.
  const [a] = await sql`SELECT now()::text AS at`;
  const [b] = await sql`SELECT now()::text AS at`;
  const left = a.at === b.at;
  if (outcome !== 'committed' || left) faults += 1;
  console.log(`after ${before} statements: ${outcome}; the connection is ${left ? 'still in a transaction' : 'free'}`);
}
process.exit(faults === 0 ? 0 : 1);
