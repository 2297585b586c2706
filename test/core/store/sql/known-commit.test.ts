// test: postgres
/** The answer to a COMMIT is lost: counts of traffic are stored once all the same, whether it was done or not. */
import { RequestMeter } from '@slipway/core/edge/request-meter';
import { RequestWriter } from '@slipway/core/edge/request-writer';
import { TrafficMeter } from '@slipway/core/jobs/submit/traffic-meter';
import { TrafficWriter } from '@slipway/core/singleton-tasks/traffic-writer';
import { RequestStore } from '@slipway/core/store/scaling/request-store';
import { TrafficStore } from '@slipway/core/store/scaling/traffic-store';
import type { Database } from '@slipway/core/store/sql/database';
import { connect, openDatabase } from '@slipway/core/store/sql/database';
import { noRequests } from '@slipway/kit/observe/request-counts';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { cuttingProxy } from '../../../helpers/net/cutting-proxy.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const parts = { clock: systemClock, random: systemRandom, logger };
const ENDPOINT = 'endpoint000001';
/** Last answer of the server before the connection is cut. */
const CUTS = { 'after the commit': 'COMMIT\0', 'before the commit': 'INSERT 0 1\0' };

/** A writer, its counter, and the number that it has stored. */
interface Counted {
  count(): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  stored(sql: Database['sql']): Promise<number | undefined>;
}

function jobs(database: Database): Counted {
  const traffic = new TrafficMeter();
  const writer = new TrafficWriter({ ...parts, stores: { traffic: new TrafficStore(database) }, traffic });
  return {
    count: () => traffic.arrived(ENDPOINT, false),
    start: () => writer.start(),
    stop: () => writer.stop(),
    stored: async (sql) =>
      (await sql<{ sum: number }[]>`SELECT sum(arrived)::int AS sum FROM endpoint_traffic`)[0]?.sum,
  };
}

function requests(database: Database): Counted {
  const meter = new RequestMeter(() => undefined);
  const writer = new RequestWriter({ ...parts, requests: new RequestStore(database), meter });
  return {
    count: () => meter.add(ENDPOINT, 'worker', { ...noRequests(), outcomes: [1, 0, 0, 0, 0, 0] }),
    start: () => writer.start(),
    stop: () => writer.stop(),
    stored: async (sql) =>
      (await sql<{ sum: number }[]>`SELECT outcomes[1]::int AS sum FROM endpoint_request_total`)[0]?.sum,
  };
}

async function check(t: Test, make: (database: Database) => Counted, answer: string): Promise<void> {
  const url = new URL((await createDatabase(t)).url);
  const proxy = await cuttingProxy(t, { host: url.hostname, port: Number(url.port) });
  const own = connect(url.href, 'test', 1, logger);
  t.teardown(() => own.end({ timeout: 1 }));
  const database = openDatabase(url.href.replace(url.host, `127.0.0.1:${proxy.port}`), { logger });
  t.teardown(() => database.close());
  const counted = make(database);
  counted.count();
  proxy.loseAnswer(ENDPOINT, answer);
  await counted.start();
  await waitFor('the cut', () => proxy.cuts === 1);
  counted.count();
  await waitFor('the counts', async () => ((await counted.stored(own)) ?? 0) >= 1);
  await counted.stop();
  t.equal(await counted.stored(own), 2, answer.slice(0, -1));
}

for (const [name, answer] of Object.entries(CUTS)) {
  t.test(`${name}: jobs`, (t) => check(t, jobs, answer));
  t.test(`${name}: requests`, (t) => check(t, requests, answer));
}
