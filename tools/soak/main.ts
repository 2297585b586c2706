/** `npm run soak`: an hour of mixed load, in which nothing may be lost and nothing may grow. */
import { existsSync } from 'node:fs';
import { ENVOY } from '@slipway/test/helpers/system/edge';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import t from 'tap';
import { HELP, readOptions } from './options.ts';
import { judge, reportOf, writeReport } from './report.ts';
import { soak } from './soak.ts';

/** Least length of a soak whose growth is judged. Results of /run are kept for 30 minutes: until then tables grow. */
const STEADY_MINUTES = 60;
const DAY_MS = 86_400_000;

const options = readOptions(process.argv.slice(2), process.env.INIT_CWD ?? process.cwd());

if (options.help) process.stdout.write(HELP);
else {
  t.setTimeout(2 * DAY_MS);
  void t.test(`${options.minutes} minutes of mixed load`, async (t) => {
    const parts = { isEdge: existsSync(ENVOY), isPython: existsSync(PYTHONS.new) };
    if (!parts.isEdge || !parts.isPython) t.comment('without Envoy or Python workers: run `npm run test:python` first');
    const result = await soak(t, options, parts, (text) => t.comment(text));
    if (options.report !== undefined) await writeReport(result, options.report);
    for (const line of reportOf(result).split('\n')) t.comment(line);
    t.same(result.faults, [], 'every answer was right, and every accepted job ended once');
    const growing = judge(result).filter(({ trend }) => !trend.isFlat);
    if (options.minutes >= STEADY_MINUTES) t.same(growing, [], 'every series is flat in the second half');
  });
}
