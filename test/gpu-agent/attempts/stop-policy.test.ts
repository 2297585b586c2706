import type { StopPolicy } from '@slipway/gpu-agent/attempts/stop-policy';
import { decideStop } from '@slipway/gpu-agent/attempts/stop-policy';
import t from 'tap';

const TABLE: [policy: StopPolicy, askedMs: number, holdsOthers: boolean, expected: 'wait' | 'kill'][] = [
  ['auto', 4_999, false, 'wait'],
  ['auto', 5_000, false, 'kill'],
  ['auto', 60_000, true, 'wait'],
  ['always', 4_999, true, 'wait'],
  ['always', 5_000, true, 'kill'],
  ['never', 600_000, false, 'wait'],
];

for (const [policy, askedMs, holdsOthers, expected] of TABLE) {
  t.equal(
    decideStop({ policy, askedMs, graceMs: 5_000, holdsOthers }),
    expected,
    `${policy} after ${askedMs} ms, others: ${holdsOthers}`,
  );
}
