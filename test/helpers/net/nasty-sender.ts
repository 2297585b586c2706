/**
 * Sends bodies of the nastiest shapes, from a thread of its own so that making and sending them costs the tested
 * process nothing.
 */
import { request } from 'node:http';
import { parentPort, Worker } from 'node:worker_threads';

/** What to send. `wrap`: what stands before and behind the shape in the body. */
export interface NastyBody {
  url: string;
  headers: Record<string, string>;
  shape: string;
  wrap: [before: string, behind: string];
}

/** Answers of one body. */
export interface NastyAnswer {
  status: number;
  text: string;
}

const MILLION = 1_000_000;
const many = (count: number, one: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join(',');

/**
 * Texts of about 5 MB, all but one of them JSON: what makes many objects, levels, numbers, pieces, or one that is long.
 */
export const SHAPES: Record<string, () => string> = {
  'numbers as keys': () => `{${many(450_000, (i) => `"${i}":1`)}}`,
  'words as keys': () => `{${many(420_000, (i) => `"k${i.toString(36)}":1`)}}`,
  elements: () => `{"a":[${'1,'.repeat(2.5 * MILLION)}1]}`,
  'empty objects': () => `[${'{},'.repeat(1.6 * MILLION)}1]`,
  'open brackets': () => '['.repeat(5 * MILLION),
  brackets: () => `${'['.repeat(2.5 * MILLION)}${']'.repeat(2.5 * MILLION)}`,
  escapes: () => `"${'\\u0041'.repeat(0.8 * MILLION)}"`,
  digits: () => '1'.repeat(5 * MILLION),
  blanks: () => `[${' \n'.repeat(2.5 * MILLION)}]`,
  'one name again and again': () => `{${'"output":1,'.repeat(450_000)}"output":{}}`,
};

/** A thread that sends. */
export function nastySender() {
  const worker = new Worker(new URL(import.meta.url));
  let next = 0;
  const waiting = new Map<number, (answer: NastyAnswer) => void>();
  worker.on('message', ({ id, answer }: { id: number; answer: NastyAnswer }) => waiting.get(id)?.(answer));
  return {
    /** Sends a body; the answer when it is there. */
    send: (body: NastyBody): Promise<NastyAnswer> =>
      new Promise((resolve) => {
        next += 1;
        waiting.set(next, resolve);
        worker.postMessage({ id: next, body });
      }),
    end: () => worker.terminate(),
  };
}

function post({ url, headers, shape, wrap: [before, behind] }: NastyBody): Promise<NastyAnswer> {
  const body = Buffer.from(`${before}${SHAPES[shape]!()}${behind}`);
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', headers: { ...headers, 'content-length': body.length } },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

// The thread's own side; in the test there is no parent.
parentPort?.on('message', ({ id, body }: { id: number; body: NastyBody }) => {
  post(body)
    .catch((error: unknown) => ({ status: 0, text: String(error) }))
    .then((answer) => parentPort!.postMessage({ id, answer }));
});
