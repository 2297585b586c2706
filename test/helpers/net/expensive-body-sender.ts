/**
 * Sends bodies that are expensive to parse. It works in a thread of its own, so that making them costs the tested
 * process nothing.
 */
import { request } from 'node:http';
import { parentPort, Worker } from 'node:worker_threads';

/** A body to send, whole or as a shape: `wrap` has the text before and after it. */
export type ExpensiveBody = { url: string; headers: Record<string, string> } & (
  | { shape: string; wrap: [before: string, behind: string] }
  | { body: Uint8Array }
);

/** The answer to one body. */
export interface ExpensiveAnswer {
  status: number;
  text: string;
}

const MILLION = 1_000_000;
const many = (count: number, one: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join(',');

/**
 * Texts of about 5 MB, all but one of them JSON: with many objects, levels, numbers or pieces, or with a long one.
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

/** Starts the sending thread. */
export function expensiveBodySender() {
  const worker = new Worker(new URL(import.meta.url));
  let next = 0;
  const waiting = new Map<number, (answer: ExpensiveAnswer) => void>();
  worker.on('message', ({ id, answer }: { id: number; answer: ExpensiveAnswer }) => waiting.get(id)?.(answer));
  return {
    /** Sends a body and resolves with its answer. */
    send: (body: ExpensiveBody): Promise<ExpensiveAnswer> =>
      new Promise((resolve) => {
        next += 1;
        waiting.set(next, resolve);
        worker.postMessage({ id: next, body });
      }),
    end: () => worker.terminate(),
  };
}

function post({ url, headers, ...asked }: ExpensiveBody): Promise<ExpensiveAnswer> {
  const body = 'body' in asked ? asked.body : Buffer.from(asked.wrap.join(SHAPES[asked.shape]!()));
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
parentPort?.on('message', ({ id, body }: { id: number; body: ExpensiveBody }) => {
  post(body)
    .catch((error: unknown) => ({ status: 0, text: String(error) }))
    .then((answer) => parentPort!.postMessage({ id, answer }));
});
