// test: postgres, 10 s
/** The example that `npm start` serves: text from an image. Bad images are rejected, and the worker survives them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareHandler } from '@slipway/dev/handler/handler';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { scratch } from '../helpers/scratch.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { startSystem } from '../helpers/system/system.ts';

const root = join(import.meta.dirname, '../..');
/** Answer of the example. */
interface Page {
  text: string;
  confidence: number;
  words: { text: string; box: number[] }[];
}

const folder = join(root, 'examples/ocr');

t.test('ocr', async (t) => {
  const system = await startSystem(t);
  const seams = { report: () => {}, signal: new AbortController().signal, clock: systemClock };
  const handler = await prepareHandler(
    { file: join(folder, 'handler.js'), lb: false },
    (await scratch(t)).folder,
    seams,
  );
  const { runSync } = endpointJobs(system, await system.createEndpoint({ command: handler.command }));

  const { input } = JSON.parse(handler.example.body!) as { input: unknown };
  const read = async (given: unknown): Promise<Page> => (await runSync(given)).output as Page;
  const first = await read(input);
  t.match(first, {
    text: /SLIPWAY HARBOUR\nBerth receipt No\. 2041[\s\S]*Boat: Northern Star[\s\S]*Total: 129\.60 EUR/,
  });
  t.ok(first.confidence > 85);
  t.match(first.words[0], { text: 'SLIPWAY', box: [Number, Number, Number, Number] });

  const png = readFileSync(join(folder, 'sample.png')).toString('base64');
  for (const image of [png, `data:image/png;base64,${png}`]) t.equal((await read({ image })).text, first.text);

  for (const [image, error] of [
    ['../package.json', /neither a data URI/],
    [undefined, /must be a data URI/],
    [7, /must be a data URI/],
    [Buffer.from('this is no image, whatever it says').toString('base64'), /cannot be read/],
    [png.slice(0, 2_000), /cannot be read/],
  ] as const) {
    const job = await runSync({ image });
    t.equal(job.status, 'FAILED');
    t.match(JSON.stringify(job.error), error);
  }
  t.equal((await read(input)).text, first.text, 'and it still reads');
});
