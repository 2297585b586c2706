/** A child that reads many streams in parallel, each to its end. */
import { Agent, request } from 'undici';
import { serveParent } from '../child.ts';

/** Streams to read. Each must return this many values, numbered from 1. */
interface StreamsToRead {
  urls: string[];
  key: string;
  values: number;
}

/** Result of the reading. */
export interface StreamsRead {
  values: number;
  /** Time from the first value to the last. */
  seconds: number;
  p50Ms: number;
  p99Ms: number;
}

/** A value that stream-handler.js yields. */
interface Value {
  number: number;
  atMs: number;
}

async function read({ urls, key, values }: StreamsToRead): Promise<StreamsRead> {
  const dispatcher = new Agent({ connections: urls.length, headersTimeout: 0, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const lateMs: number[] = [];
  let firstMs = Infinity;
  let lastMs = 0;
  await Promise.all(
    urls.map(async (url) => {
      let number = 0;
      for (let ended = false; !ended; ) {
        const response = await request(url, { dispatcher, method: 'POST', headers, body: '{}' });
        if (response.statusCode !== 200)
          throw new Error(`a stream was answered ${response.statusCode}: ${await response.body.text()}`);
        const { status, stream = [] } = (await response.body.json()) as {
          status: string;
          stream?: { output: Value }[];
        };
        const nowMs = Date.now();
        for (const { output } of stream) {
          number += 1;
          if (output.number !== number) throw new Error(`value ${output.number} came as number ${number}`);
          lateMs.push(nowMs - output.atMs);
          firstMs = Math.min(firstMs, nowMs);
          lastMs = nowMs;
        }
        if (status === 'FAILED' || status === 'TIMED_OUT') throw new Error(`a streaming job is ${status}`);
        // The status is sent with the last values only.
        ended = status === 'COMPLETED';
      }
      if (number !== values) throw new Error(`a stream had ${number} values instead of ${values}`);
    }),
  );
  lateMs.sort((a, b) => a - b);
  const at = (share: number): number => lateMs[Math.min(lateMs.length - 1, Math.floor(lateMs.length * share))]!;
  return { values: lateMs.length, seconds: (lastMs - firstMs) / 1_000, p50Ms: at(0.5), p99Ms: at(0.99) };
}

serveParent({}, { read });
