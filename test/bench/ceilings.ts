/** The bare ceilings: what Fastify and PostgreSQL do on this machine when nothing else is asked of them. */
import type { Bench } from './bench.ts';
import { INPUT, measureLoad } from './bench.ts';
import { Child } from './child.ts';
import type { Ceilings, Figure } from './figure.ts';
import { median } from './figure.ts';

/** Measures both. */
export async function measureCeilings(bench: Bench): Promise<{ ceilings: Ceilings; figures: Figure[] }> {
  bench.say('ceiling: Fastify POST that does nothing, 64 connections');
  const http = await Child.start('test/bench/bare-http.ts');
  const load = { url: `${http.ready.url}/run`, headers: {}, body: `{"input":${INPUT}}`, expect: 'IN_QUEUE' };
  const many = await measureLoad(bench, { ...load, connections: 64 }, { fastify: http.pid, load: bench.load.pid });
  const one = await measureLoad(bench, { ...load, connections: 1 }, { fastify: http.pid });
  await http.stop();

  bench.say('ceiling: inserts in batches of 500 over 4 connections');
  const inserts = await Child.start('test/bench/bare-inserts.ts');
  const rates: number[] = [];
  const parameters = { url: bench.database.url, seconds: bench.options.seconds, body: INPUT };
  for (let round = 0; round < bench.options.rounds; round += 1) rates.push(await inserts.ask<number>('run', parameters));
  await inserts.stop();
  return {
    ceilings: { http: many.rate, inserts: median(rates) },
    figures: [
      { name: 'ceiling: Fastify no-op POST ×64', path: '', value: many.rate, unit: '/s', cpu: many.cpu },
      { name: 'ceiling: Fastify no-op POST ×1, p50', path: '', value: one.p50Ms, unit: 'ms' },
      { name: 'ceiling: rows inserted in batches of 500', path: '', value: median(rates), unit: '/s' },
    ],
  };
}
