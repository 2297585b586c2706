// test: postgres, 30 s
/**
 * Clocks that are wrong: hours are tolerated by agents, cores and facades, and jobs and leases are as always. A clock
 * that contradicts a certificate is named as the cause, and the token is not used up.
 */
import { randomBytes } from 'node:crypto';
import { systemTransport } from '@slipway/kit/net/channel';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { CreateJoinTokenRequest, JoinServiceClient } from '@slipway/proto/gen/slipway/v1/join_service';
import t from 'tap';
import { commandLine } from '../cli/command-line.ts';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { digestAt } from '../helpers/net/authority-at.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import { shiftedClock, skipWithoutFaketime } from '../helpers/time/shifted-clock.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

/** Less than the differences of clocks here, and far more than a job takes. */
const JOB_MS_MAX = 3_600_000;

t.setTimeout(600_000);

t.test('an agent whose clock differs from that of core', { skip: skipWithoutFaketime() }, async (t) => {
  const core = await startReplicas(t, 1, { SLIPWAY_CORE_LISTEN: '127.0.0.1:0,grpcs://127.0.0.1:0' });
  const { address, secureAddress } = core.replicas[0]!;
  const joins = systemTransport.openClient(JoinServiceClient, address);
  t.teardown(() => joins.close());
  const newToken = (pool: string) =>
    call(joins, 'createJoinToken', CreateJoinTokenRequest.fromPartial({ pool, ttlSeconds: 3_600 }), core.rootKey);
  const usesOf = async (id: string) =>
    (await call(joins, 'listJoinTokens', {}, core.rootKey)).tokens.find((token) => token.id === id)?.uses;
  const templateId = await core.createTemplate({ startCommand: jsHandler('all.js') });
  /** Starts an agent at `offset`. */
  const start = (token: string, name: string, offset?: string, cwd = commandLine(t, {}).cwd) => {
    const env = { SLIPWAY_WORKER_USER: 'same', SLIPWAY_LOG_FORMAT: 'json', ...(offset && shiftedClock(offset)) };
    const join = ['--join', secureAddress.slice('grpcs://'.length), '--token', token, '--name', name];
    const folder = ['--data-dir', `${cwd}/agent`, '--containers', 'none', '--allow-commands'];
    return { run: commandLine(t, env).start('agent', ...join, ...folder), cwd };
  };
  /** Runs a job on the machine of a pool. */
  const runJob = async (pool: string) => {
    const endpointId = await core.createEndpoint({ templateId, locations: [`pool:${pool}`], workersMax: 1 });
    const { id } = await core.submit(endpointId, { mode: 'value', value: 42 });
    return core.wait(endpointId, id);
  };

  for (const [name, offset, seconds] of [
    ['behind', '-50m', /"aheadSeconds":-(29\d\d|3000)\b/],
    ['ahead', '+3h', /"aheadSeconds":1(0799|08\d\d)\b/],
  ] as const)
    await t.test(`${offset}: tolerated and logged`, async (t) => {
      const { text, token } = await newToken(name);
      const { run } = start(text, name, offset);
      await run.wrote('stdout', /clock differs from core's: run NTP/);
      t.match(run.stdout, seconds);
      await run.wrote('stdout', /session opened/);
      const job = await runJob(name);
      t.match(job, { state: JobState.COMPLETED, retries: 0 }, 'its jobs end as always');
      t.equal(await usesOf(token!.id), 1);
      run.child.kill('SIGTERM');
      t.match(await run.ended, { code: 0 });
    });

  for (const [name, offset, reason] of [
    ['too-early', '-2d', /is not valid yet, or the clock of this machine or of that one is wrong/],
    ['too-late', '+100d', /has expired, or the clock of this machine or of that one is wrong/],
  ] as const)
    await t.test(`${offset}: refused with the cause, and the token is kept`, async (t) => {
      const { text, token } = await newToken(name);
      const { run, cwd } = start(text, name, offset);
      await run.wrote('stdout', reason);
      t.equal(await usesOf(token!.id), 0);
      run.child.kill('SIGTERM');
      await run.ended;
      const again = start(text, name, undefined, cwd).run;
      await again.wrote('stdout', /session opened/);
      t.equal(await usesOf(token!.id), 1, 'with a right clock it joins');
      again.child.kill('SIGTERM');
      await again.ended;
    });

  await t.test('doctor names it', async (t) => {
    const ca = `sha256:${await digestAt(secureAddress)}`;
    const cli = commandLine(t, shiftedClock('+3h'));
    t.match(await cli.start('doctor', 'facade', '--core', secureAddress, '--core-ca', ca).ended, {
      code: 1,
      stdout: /fail +clock +10(799|8\d\d)\.\d s ahead of core[^]*NTP/,
    });
  });
});

t.test(
  'core and facade hours ahead of the database, and the agent behind it',
  { skip: skipWithoutFaketime() },
  async (t) => {
    const system = await startProcesses(t, { env: shiftedClock('+3h'), agentEnv: shiftedClock('-3h') });
    const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));
    const job = await jobs.runSync(
      { mode: 'value', value: 42 },
      { policy: { ttl: 600_000, executionTimeout: 600_000 } },
    );
    t.match(job, { status: 'COMPLETED', output: 42 });
    t.ok(job.executionTime < JOB_MS_MAX && job.delayTime < JOB_MS_MAX, `${job.delayTime} and ${job.executionTime} ms`);
    const key = randomBytes(8).toString('hex');
    const id = await jobs.run({ mode: 'value', value: 1 }, {}, { 'idempotency-key': key });
    t.equal(await jobs.run({ mode: 'value', value: 1 }, {}, { 'idempotency-key': key }), id);
    await jobs.reached(id, 'COMPLETED');
    const [row] = await waitFor(
      'its row',
      () => system.sql`SELECT attempt, finished_at - now() < interval '1 h' AS now FROM job WHERE id = ${id}`,
    );
    t.match(row, { attempt: 1, now: true }, 'by the clock of the database');
  },
);
