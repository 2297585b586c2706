// test: alone, 10 s
/**
 * The process that starts helpers and nvidia-smi for the agent: what they say arrives, and when it ends, another one
 * follows.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { descendantsNow } from '@slipway/gpu-agent/executors/descendants';
import { Broker } from '@slipway/gpu-agent/gpu-memory/broker';
import { HelperPool } from '@slipway/gpu-agent/gpu-memory/helper-pool';
import { listAny } from '@slipway/gpu-agent/inventory/ask-driver';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { brokersOf, helpersOf, isGone } from '../../helpers/cuda/driver-processes.ts';
import type { CudaStandIn } from '../../helpers/cuda/stand-in.ts';
import { cudaSkip, startCuda } from '../../helpers/cuda/stand-in.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(120_000);

/** Puts an nvidia-smi in place of the driver's. */
function withProgram(t: Test, script: string): string {
  const folder = t.testdir({});
  writeFileSync(join(folder, 'nvidia-smi'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'nvidia-smi'), 0o755);
  return `${folder}:/usr/bin:/bin`;
}

function setUp(
  t: Test,
  env: Record<string, string>,
  clock: ManualClock | typeof systemClock = systemClock,
  queryMs?: number,
) {
  const broker = new Broker(env, clock, queryMs);
  const helpers = new HelperPool(systemClock, () => broker.helper());
  t.teardown(() => {
    helpers.close();
    broker.close();
  });
  return { broker, helpers };
}

/** Starts an offload whose call is under way for ten minutes. Returns how it ends. */
async function longMove(t: Test, cuda: CudaStandIn, helpers: HelperPool) {
  const { pid } = await cuda.process(t, { 'GPU-1': 64 });
  await cuda.fault('lock', { lateMs: 600_000 });
  const ended = helpers.run({ do: 'offload', pids: [pid], lockTimeoutMs: 1_000 }, { limitMs: 600_000 });
  await waitFor('the call', async () => !(await cuda.plans('lock')));
  return { ended };
}

t.test('nvidia-smi: its output, however long, and how it failed', async (t) => {
  const { broker } = setUp(t, { PATH: withProgram(t, 'head -c 2000000 /dev/zero | tr "\\0" x; echo " $1 $2"') });
  const outputs = await Promise.all(['first', 'second'].map((word) => broker.ask(word, 'a b')));
  t.strictSame(
    outputs.map((output) => output.replace(/^x+/, (all) => String(all.length))),
    ['2000000 first a b\n', '2000000 second a b\n'],
  );

  const lost = setUp(t, { PATH: withProgram(t, 'echo "GPU 0: NVIDIA L4 (UUID: GPU-1)"; exit 15') });
  await t.rejects(lost.broker.ask('-L'), { code: 15, stdout: /GPU-1/ });
  t.match(await listAny(lost.broker.ask), /GPU-1/, 'a lost card does not hide the others');

  const none = setUp(t, { PATH: t.testdir({}) });
  await t.rejects(none.broker.ask('-L'), { code: 'ENOENT' });
  t.equal((await brokersOf(process.pid)).length, 3);
  for (const { broker: each } of [lost, none]) each.close();
  await waitFor('their end', async () => (await brokersOf(process.pid)).length === 1);
  await t.rejects(lost.broker.ask('-L'), /the agent stops/);
});

t.test('a process of any name', async (t) => {
  const { broker } = setUp(t, { PATH: withProgram(t, String.raw`printf 'a\342\200\250b\342\200\251c'`) });
  t.equal(await broker.ask('-q', '-x'), 'a\u2028b\u2029c', 'one that contains ends of lines');
});

t.test('helpers behind a broker', { skip: cudaSkip }, async (t) => {
  const cuda = await startCuda(t, { cards: { 'GPU-1': 16_384 } });

  t.test('a broker that dies: its helpers end, what it did fails, and another one follows', async (t) => {
    const { broker, helpers } = setUp(t, cuda.env);
    const { ended } = await longMove(t, cuda, helpers);
    const [pid] = await brokersOf(process.pid);
    const old = await helpersOf(process.pid);
    t.equal(old.length, 1);
    process.kill(pid!, 'SIGKILL');
    t.match(await ended, { kind: 'failed', text: /the broker process ended with SIGKILL/ });
    await waitFor('its helper to end', () => old.every(isGone));
    t.equal(await helpers.run({ do: 'open' }, { limitMs: 60_000 }), undefined);
    t.match(await broker.ask('-L'), /GPU-1/);
  });

  t.test('a helper that dies while it is idle is not used again', async (t) => {
    const { helpers } = setUp(t, cuda.env);
    await helpers.run({ do: 'open' }, { limitMs: 60_000 });
    const [helper] = await helpersOf(process.pid);
    process.kill(helper!, 'SIGKILL');
    // The broker says so: without that the next move would fail, and its worker end.
    await waitFor('its end', () => isGone(helper!));
    await waitFor('a helper', async () => (await helpers.run({ do: 'open' }, { limitMs: 60_000 })) === undefined);
    t.not((await helpersOf(process.pid))[0], helper);
  });

  t.test("a helper that dies: the end of NVIDIA's program that it ran", async (t) => {
    const { helpers } = setUp(t, { PATH: cuda.env.PATH });
    const { ended } = await longMove(t, cuda, helpers);
    const [helper] = await helpersOf(process.pid);
    const programs = [...descendantsNow(helper!).found.keys()];
    t.equal(programs.length, 1);
    process.kill(helper!, 'SIGKILL');
    t.match(await ended, { kind: 'failed', text: /it ended with SIGKILL/ });
    await waitFor('its end', () => programs.every(isGone));
  });

  t.test('a broker that does not respond is ended', async (t) => {
    const clock = new ManualClock();
    const { broker, helpers } = setUp(t, cuda.env, clock);
    const { ended } = await longMove(t, cuda, helpers);
    const [pid] = await brokersOf(process.pid);
    process.kill(pid!, 'SIGSTOP');
    const asked = broker.ask('-L').catch((error: unknown) => error);
    helpers.close();
    t.match(await ended, { kind: 'failed', text: /it was ended/ }, 'the caller does not wait for it');
    clock.pass(4_999);
    t.notOk(isGone(pid!));
    clock.pass(1);
    t.match(await asked, { message: /the broker process did not respond/ });
    await waitFor('its end', () => isGone(pid!));
    t.match(await broker.ask('-L'), /GPU-1/, 'another one follows');
    const [next] = await brokersOf(process.pid);
    clock.pass(60_000);
    await waitFor('the end of one that nothing needs', () => isGone(next!));
  });

  t.test('an nvidia-smi that does not end: its call fails, moves continue, and calls do not pile up', async (t) => {
    const PATH = withProgram(t, "trap '' TERM; exec sleep 1000");
    const { broker, helpers } = setUp(t, { ...cuda.env, PATH }, systemClock, 100);
    const { ended } = await longMove(t, cuda, helpers);
    await t.rejects(broker.ask('-L'), /nvidia-smi does not end/);
    const faults = await Promise.all(
      Array.from({ length: 20 }, () => broker.ask('-L').catch((error: Error) => error.message)),
    );
    t.equal(faults.filter((text) => text === 'nvidia-smi does not end').length, 15);
    t.equal(faults.filter((text) => text === 'earlier calls of nvidia-smi have not ended').length, 5);
    t.equal(await Promise.race([ended, 'continues']), 'continues');
  });

  t.test('the end of the agent ends all of them', async (t) => {
    const { broker, helpers } = setUp(t, cuda.env);
    const { ended } = await longMove(t, cuda, helpers);
    const pids = [...(await brokersOf(process.pid)), ...(await helpersOf(process.pid))];
    t.equal(pids.length, 2);
    broker.close();
    t.match(await ended, { kind: 'failed', text: /the agent stops/ });
    await waitFor('their end', () => pids.every(isGone));
  });
});
