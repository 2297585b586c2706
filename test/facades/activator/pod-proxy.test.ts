// test: postgres
/** Requests to core about pods that do not exist are limited. */
import type { IncomingMessage } from 'node:http';
import { PodProxy } from '@slipway/facades/activator/pod-proxy';
import { Tunnels } from '@slipway/facades/activator/tunnels';
import { KeyWatch } from '@slipway/facades/plugins/limits/key-watch';
import { systemClock } from '@slipway/kit/time/clock';
import type { FastifyReply } from 'fastify';
import t from 'tap';
import { logger } from '../../helpers/system/job-engine.ts';

t.test('a flood of keys does not become a flood of questions', async (t) => {
  let asked = 0;
  const tunnels = new Tunnels({ clock: systemClock, logger, authorize: async () => '' });
  const limits = { processingMs: 1_000, socketIdleMs: 1_000 };
  const locate = () => {
    asked += 1;
    return new Promise<never>(() => undefined);
  };
  const nobody = {
    checkLive: async (): Promise<never> => {
      throw new Error('nobody asks');
    },
  };
  const proxy = new PodProxy({
    locate,
    tunnels,
    rateLimit: undefined,
    keys: new KeyWatch(nobody, systemClock),
    limits,
    clock: systemClock,
  });
  const serve = (key: string) => {
    const request = { method: 'GET', headers: { authorization: `Bearer ${key}` } } as IncomingMessage;
    return proxy.serve(request, {} as FastifyReply, {
      podId: 'abcdefghijklmn',
      port: 80,
      path: '/',
      prefix: '/pods/abcdefghijklmn/80',
    });
  };
  for (let key = 0; key < 1_000; key += 1) void serve(`k${key}`);
  await t.rejects(serve('more'), /Too many pods/);
  t.equal(asked, 1_000);
});
