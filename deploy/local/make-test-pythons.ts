/** `npm run test:python`: makes the Pythons that tests use, or says what to install. `npm test` does the same by itself. */
import { join } from 'node:path';
import { systemClock } from '../../core/runtime/clock.ts';
import { makeTestPythons } from './test-pythons.ts';

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(signal, () => stopping.abort());
const root = join(import.meta.dirname, '..', '..');
const report = (line: string): void => { process.stdout.write(`${line}\n`); };
const failure = await makeTestPythons(root, { report, signal: stopping.signal, clock: systemClock }).catch((error: Error) => error);
if (failure) process.stderr.write(`\n${failure.message}\n`);
process.exit(failure ? 1 : 0);
