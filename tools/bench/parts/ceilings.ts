/**
 * Measures the bare ceilings: the most that Fastify, a gRPC stream and PostgreSQL can do on this machine when they do
 * nothing else.
 */

import { Child } from '../child.ts';
import type { Ceilings, Figure } from '../figure.ts';
import { median, ofRounds } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT, measureLoad } from '../stack/bench.ts';

/** Measures all ceilings. */
export async function measureCeilings(bench: Bench): Promise<{ ceilings: Ceilings; figures: Figure[] }> {
  const http = await measureHttp(bench);
  const inserts = await measureInserts(bench);
  const figures = [
    ...http.figures,
    ...(await measureStream(bench)),
    ...inserts.figures,
    ...(await measureTwoCommits(bench)),
  ];
  return { ceilings: { http: http.rate, inserts: inserts.rate }, figures };
}

async function measureHttp(bench: Bench): Promise<{ rate: number; figures: Figure[] }> {
  bench.say('ceiling: Fastify POST that does nothing, 64 connections and 1');
  const http = await Child.start('tools/bench/bare/bare-http.ts');
  const load = { url: `${http.ready.url}/run`, headers: {}, body: `{"input":${INPUT}}`, expect: 'IN_QUEUE' };
  const many = await measureLoad(bench, { ...load, connections: 64 }, { fastify: http.pid, load: bench.load.pid });
  const one = await measureLoad(bench, { ...load, connections: 1 }, { fastify: http.pid });
  await http.stop();
  return {
    rate: many.rate,
    figures: [
      {
        name: 'ceiling: Fastify no-op POST ×64',
        path: '',
        value: many.rate,
        spread: many.spread.rate,
        unit: '/s',
        cpu: many.cpu,
      },
      { name: 'ceiling: Fastify no-op POST ×1, p50', path: '', value: one.p50Ms, spread: one.spread.p50Ms, unit: 'ms' },
    ],
  };
}

async function measureStream(bench: Bench): Promise<Figure[]> {
  bench.say('ceiling: gRPC stream, 50 jobs a message, there and back');
  const [server, client] = [
    await Child.start('tools/bench/bare/bare-stream.ts'),
    await Child.start('tools/bench/bare/bare-stream.ts'),
  ];
  const address = await server.ask<string>('serve');
  const rates: number[] = [];
  for (let round = 0; round < bench.options.rounds; round += 1)
    rates.push(await client.ask<number>('run', { address, seconds: bench.options.seconds }));
  await client.stop();
  await server.stop();
  return [{ name: 'ceiling: gRPC stream, jobs in messages of 50', path: '', ...ofRounds(rates), unit: '/s' }];
}

async function measureInserts(bench: Bench): Promise<{ rate: number; figures: Figure[] }> {
  bench.say('ceiling: inserts in batches of 500 over 4 connections');
  const inserts = await Child.start('tools/bench/bare/bare-inserts.ts');
  const rates: number[] = [];
  const parameters = { url: bench.database.url, seconds: bench.options.seconds, body: INPUT };
  for (let round = 0; round < bench.options.rounds; round += 1)
    rates.push(await inserts.ask<number>('run', parameters));
  await inserts.stop();
  return {
    rate: median(rates),
    figures: [{ name: 'ceiling: rows inserted in batches of 500', path: '', ...ofRounds(rates), unit: '/s' }],
  };
}

async function measureTwoCommits(bench: Bench): Promise<Figure[]> {
  bench.say('ceiling: Fastify that inserts a row and updates it, 1 connection');
  const key = 'bench';
  const env = { BENCH_PEER: 'two-commits', BENCH_STORE: bench.database.url, BENCH_QUEUE: 'ceiling', BENCH_KEY: key };
  const server = await Child.start('tools/bench/peers/peer-server.ts', env);
  const load = {
    url: `${server.ready.url}/runsync`,
    headers: { authorization: `Bearer ${key}` },
    body: `{"input":${INPUT}}`,
    expect: '"done":true',
  };
  const one = await measureLoad(
    bench,
    { ...load, connections: 1 },
    { fastify: server.pid, postgres: bench.database.pid },
  );
  await server.stop();
  return [
    {
      name: 'ceiling: Fastify and two commits ×1, p50',
      path: '',
      value: one.p50Ms,
      spread: one.spread.p50Ms,
      unit: 'ms',
      cpu: one.cpu,
    },
  ];
}
