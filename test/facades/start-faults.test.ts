/** Errors of a facade that cannot start: they name what to correct. */

import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { occupy } from '../helpers/net/ports.ts';

t.test("a port that another program has, an address that is not this machine's", async (t) => {
  const taken = await occupy(t);
  const rows = [
    [
      '127.0.0.1',
      taken,
      `cannot listen at 127.0.0.1:${taken}: another program listens there; end it, or choose another port`,
    ],
    [
      '192.0.2.1',
      8080,
      'cannot listen at 192.0.2.1:8080: this machine has no such address; choose one of its addresses, ' +
        'or 0.0.0.0 for all',
    ],
  ] as const;
  for (const [host, port, message] of rows) {
    const config = readFacadeConfig({
      SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
      SLIPWAY_HTTP_HOST: host,
      SLIPWAY_HTTP_PORT: String(port),
    });
    const facade = buildFacade(config, { logger: createLogger('test', 'silent') });
    await t.rejects(facade.start(), { message });
    await facade.stop();
  }
});
