/**
 * The agent's broker process: starts the programs that talk to the driver, which are helper processes
 * (driver-helper.ts) and nvidia-smi. It calls no driver itself, so it never hangs. It ends with the agent, and its
 * programs with it.
 *
 *   node gpu-agent/gpu-memory/driver-broker.ts
 */
import { createInterface } from 'node:readline';
import { askDriver } from '../inventory/ask-driver.ts';
import type { BrokerRequest, BrokerResponse, QueryFailure } from './broker-protocol.ts';
import { HelperProcess } from './helper-process.ts';
import type { HelperRequest } from './helper-protocol.ts';

const helpers = new Map<number, HelperProcess>();

process.stdin.on('close', () => {
  for (const helper of helpers.values()) helper.kill();
  // 0 is its process group: this process, and calls of nvidia-smi.
  process.kill(0, 'SIGKILL');
});
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
      return void query(of, message.args);
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

async function query(of: number, args: readonly string[]): Promise<void> {
  try {
    respond({ of, output: await askDriver(...args) });
  } catch (error) {
    const { message, code, killed, stdout = '' } = error as QueryFailure;
    respond({ of, failure: { message, stdout, ...(code !== undefined && { code }), ...(killed && { killed }) } });
  }
}

function respond(response: BrokerResponse): void {
  process.stdout.write(`${JSON.stringify(response)}\n`);
}
