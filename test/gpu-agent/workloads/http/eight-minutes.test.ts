/**
 * A worker that serves HTTP and listens nowhere: by the agent's own parts and real sockets, with a clock that only the
 * test moves.
 */
import { createServer } from 'node:http';
import { DesiredState, DesiredWorkers } from '@slipway/proto/gen/slipway/v1/agent_service';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { wired } from '../../attempts/wired.ts';

const MINUTE_MS = 60_000;
/** Longer than the pause between two questions. */
const STEP_MS = 5_000;

/** Starts an agent with one worker that serves HTTP. */
async function serving(t: Test) {
  const agent = await wired(t);
  const httpServer = { port: 8000, healthPort: 8000, healthPath: '/ping', h2c: false };
  const list = [
    { workerId: 'w', endpointId: 'e', desired: DesiredState.RUN, spec: { startCommand: ['run'], httpServer } },
  ];
  agent.pool.apply(DesiredWorkers.fromPartial({ workers: list }));
  const started = await waitFor('its start', () => agent.executor.of('w'));
  const worker = agent.pool.get('w')!;
  await waitFor('its address', () => {
    agent.clock.pass(50);
    return worker.http!.health === HttpHealth.INITIALIZING;
  });
  const since = agent.clock.monotonicMs();
  return { ...agent, worker, started, passedMs: () => agent.clock.monotonicMs() - since };
}

t.test('ends after 8 minutes, and not before, with the reason', async (t) => {
  const { clock, worker, started, passedMs } = await serving(t);
  await waitFor('the stop signal', () => {
    clock.pass(STEP_MS);
    return started.asked.length > 0;
  });
  t.ok(passedMs() >= 8 * MINUTE_MS && passedMs() < 10 * MINUTE_MS, `${passedMs()} ms`);
  t.same(started.asked, ['stop']);
  started.exit({ signal: 'SIGTERM' });
  await waitFor('its end', () => worker.hasEnded);
  t.equal(worker.state, WorkerState.UNHEALTHY);
  t.match(
    worker.reason,
    /^GET \/ping on port \d+ has answered neither 200 nor 204 for 480 s\. .*must listen on the port that the variable PORT says/,
  );
});

t.test('a worker that answers 204 gets more time, up to an hour', async (t) => {
  const { clock, worker, started, passedMs } = await serving(t);
  let answered = 0;
  // The agent closes the connection once it has read the status.
  const server = createServer((request, reply) => {
    request.socket.once('close', () => {
      answered += 1;
    });
    reply.writeHead(204).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(worker.http!.port, '127.0.0.1', resolve);
  });
  t.teardown(() => server.close());
  await waitFor('the first 204', () => {
    clock.pass(STEP_MS);
    return answered > 0;
  });
  while (passedMs() < 59 * MINUTE_MS) {
    const before = answered;
    clock.pass(MINUTE_MS);
    // Far less than an answer may take, so that a slow machine is not taken for a silent worker.
    await waitFor('another', () => {
      clock.pass(100);
      return answered > before;
    });
  }
  t.same(started.asked, []);
  await waitFor('the stop signal', () => {
    clock.pass(STEP_MS);
    return started.asked.length > 0;
  });
  t.ok(passedMs() > 60 * MINUTE_MS && passedMs() < 63 * MINUTE_MS, `${passedMs()} ms`);
  started.exit({ signal: 'SIGTERM' });
  await waitFor('its end', () => worker.hasEnded);
  t.match(worker.reason, /has answered 204 \(initializing\) for 60 min/);
});
