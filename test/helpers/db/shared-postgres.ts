/**
 * The PostgreSQL of a whole test run, started by `npm test`: writes one line with its address (a SharedPostgres as
 * JSON, with a Cluster) and runs until its input ends, which it also does when the run is killed.
 */
import { once } from 'node:events';
import { makeTemplate } from './template-database.ts';
import { makeCluster, QUICK, startPostgres } from './throwaway-postgres.ts';

const server = await startPostgres(QUICK, { max_connections: '600' });
const [shared, cluster] = await Promise.all([makeTemplate(server.url()), makeCluster(server.folder)]);
process.stdout.write(`${JSON.stringify({ ...shared, cluster })}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await server.remove();
