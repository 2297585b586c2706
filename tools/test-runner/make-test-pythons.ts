/**
 * `npm run test:python`: makes the Pythons, the grpcurl and the MCP server that tests use, or reports what to install.
 * `npm test` does the same by itself.
 */
import { join } from 'node:path';
import { systemClock } from '@slipway/kit/time/clock';
import { makeGrpcurl } from './test-grpcurl.ts';
import { makeMcp } from './test-mcp.ts';
import { makeTestPythons } from './test-pythons.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(signal, () => stopping.abort());
const root = join(import.meta.dirname, '../..');
const report = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const deps = { report, signal: stopping.signal, clock: systemClock };

/**
 * Makes everything. grpcurl is compiled while packages of Pythons are downloaded. The first Python brings the installer
 * that the other Pythons and Go's package use.
 */
async function makeAll(): Promise<Error[]> {
  const made = await Promise.allSettled([makeTestPythons(root, deps, (name) => name === 'python-new')]);
  made.push(
    ...(await Promise.allSettled([
      makeTestPythons(root, deps, (name) => name !== 'python-new'),
      makeGrpcurl(root, deps),
      makeMcp(root, deps),
    ])),
  );
  return made.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
}

const [failure] = await makeAll();
if (failure) process.stderr.write(`\n${failure.message}\n`);
process.exit(failure ? 1 : 0);
