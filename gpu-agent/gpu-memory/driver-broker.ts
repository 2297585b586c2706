/**
 * The agent's broker process: starts the programs that talk to the driver, which are helper processes
 * (driver-helper.ts) and nvidia-smi. It calls no driver itself, so it never hangs. It ends with the agent, and its
 * programs with it.
 *
 *   node gpu-agent/gpu-memory/driver-broker.ts
 */
import { createInterface } from 'node:readline';
import { systemClock } from '@slipway/kit/time/clock';
import { runDriverQuery } from '../inventory/ask-driver.ts';
import type { BrokerRequest, BrokerResponse, QueryFailure } from './broker-protocol.ts';
import { lineOf } from './broker-protocol.ts';
import { HelperProcess } from './helper-process.ts';
import type { HelperRequest } from './helper-protocol.ts';

/**
 * Most calls of nvidia-smi at the same time. Where the driver hangs, a call does not end even if it is killed, and more
 * of them would pile up.
 */
const QUERIES_MAX = 16;
/** Time in which a call must end once it was asked to, in milliseconds. */
const END_MS = 1_000;

const helpers = new Map<number, HelperProcess>();
let queries = 0;

process.stdin.on('close', () => {
  for (const helper of helpers.values()) helper.kill();
  // 0 is its process group: this process, and calls of nvidia-smi.
  process.kill(0, 'SIGKILL');
});
// The agent is gone: stdin closes, too.
process.stdout.on('error', () => undefined);
for await (const line of createInterface({ input: process.stdin })) handle(JSON.parse(line) as BrokerRequest);

function handle(message: BrokerRequest): void {
  const { of } = message;
  switch (message.do) {
    case 'start':
      return start(of, message.env);
    case 'ask':
      return ask(of, message.request);
    case 'kill':
      // One that has ended meanwhile has reported that.
      return helpers.get(of)?.kill();
    case 'query':
      return void query(of, message.args, message.limitMs);
  }
}

function start(of: number, env: Readonly<Record<string, string>>): void {
  try {
    const helper = new HelperProcess(env, (ended) => {
      helpers.delete(of);
      respond({ of, ended });
    });
    helpers.set(of, helper);
  } catch (error) {
    respond({ of, ended: (error as Error).message });
  }
}

function ask(of: number, request: HelperRequest): void {
  // A helper that ends reports that by itself.
  void helpers
    .get(of)
    ?.ask(request)
    .then(
      (response) => respond({ of, response }),
      () => undefined,
    );
}

async function query(of: number, args: readonly string[], limitMs: number): Promise<void> {
  const fail = (message: string): void => respond({ of, failure: { message, stdout: '' } });
  if (queries >= QUERIES_MAX) return fail('earlier calls of nvidia-smi have not ended');
  queries += 1;
  // The agent ignores what comes later.
  const late = systemClock.after(limitMs + END_MS, () => fail('nvidia-smi does not end'));
  try {
    respond({ of, output: await runDriverQuery(args, limitMs) });
  } catch (error) {
    const { message, code, killed, stdout = '' } = error as QueryFailure;
    respond({ of, failure: { message, stdout, ...(code !== undefined && { code }), ...(killed && { killed }) } });
  }
  late.cancel();
  queries -= 1;
}

function respond(response: BrokerResponse): void {
  process.stdout.write(lineOf(response));
}
