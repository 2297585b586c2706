// test: alone, python, envoy, 30 s
/** A short soak: each kind of request gets its right answer, and every accepted job ends once. */
import { judge, reportOf } from '@slipway/tools/soak/report';
import { soak } from '@slipway/tools/soak/soak';
import t from 'tap';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';

const OPTIONS = { minutes: 0.15, everySeconds: 3, rate: 1, report: undefined, explain: false, help: false };
t.setTimeout(600_000);

const skip = skipWithoutEnvoy() || skipWithoutPython('new');

t.test('seconds of mixed load', { skip }, async (t) => {
  const result = await soak(t, OPTIONS, { isEdge: true, isPython: true }, () => undefined);
  t.same(result.faults, []);
  t.ok(result.acceptedJobs >= 100, `${result.acceptedJobs} jobs`);
  const rare = ['redeploy', 'endpoint made, used and deleted', 'from zero workers'];
  const unsent = Object.entries(result.sent).filter(([kind, count]) => count === 0 && !rare.includes(kind));
  t.same(unsent, [], 'each kind was sent');
  const empty = judge(result).filter(({ subject, trend }) => subject === 'memory' && trend.median === 0);
  t.same(empty, [], 'the memory of each part was read');
  t.match(reportOf(result), 'No faults');
});
