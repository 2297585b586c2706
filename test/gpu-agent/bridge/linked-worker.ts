/** A bridge, and the link of a worker to it. */

import { bodyBudget } from '@slipway/gpu-agent/bridge/raw-body';
import { Bridge } from '@slipway/gpu-agent/bridge/server';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { AgentLink } from 'slipway-worker/agent-link';
import { FrameKind } from 'slipway-worker/frames';
import type { Test } from 'tap';
import { wired } from '../attempts/wired.ts';

export const HEADERS = { 'user-agent': 'Slipway-Worker/0.1.0' };

/** Returns a worker with a link. */
export async function linked(t: Test, options: { diskAfterMs?: number } = {}) {
  const agent = await wired(t, options);
  await agent.desire({ w: 'e' });
  const work = new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock: agent.clock });
  const stopping = new AbortController();
  const lines: string[] = [];
  const logger = createLogger('test', 'info', {
    write: (line: string) => {
      lines.push(line);
    },
  });
  const parts: ConstructorParameters<typeof Bridge>[0]['parts'] & typeof agent = {
    ...agent,
    toCore: agent.outbox,
    bodies: bodyBudget(),
    work,
    random: systemRandom,
    logger,
    stopping: stopping.signal,
  };
  const bridge = new Bridge({ parts, port: 0 });
  await bridge.start();
  t.teardown(async () => {
    stopping.abort();
    await bridge.stop();
  });
  const url = (token = agent.pool.get('w')!.token): string => `${bridge.url}/v2/e/${token}/job-link/w?gpu=x`;
  const link = (await AgentLink.open(url(), HEADERS))!;
  const take = async (count = 1, concurrency = 4, holds = 0): Promise<string[]> => {
    const { empty, body } = await link.ask(FrameKind.TAKE, `${count} ${concurrency} ${holds}`);
    return empty ? [] : (JSON.parse(body.toString()) as { id: string }[]).map(({ id }) => id);
  };
  const asks = (): boolean => agent.polls.requested('w') > 0;
  const outcomes = (): unknown[] =>
    (agent.message()?.outcomes ?? []).map(({ ref, kind, output }) => [ref!.jobId, kind, output?.toString()]);
  return { ...agent, parts, bridge, url, link, take, asks, outcomes, lines };
}
