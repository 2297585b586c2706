import { sdkTraits, versionFromUserAgent } from '@slipway/gpu-agent/workloads/workers/sdk-traits';
import t from 'tap';

const TABLE: [
  version: string,
  stopChannel: boolean,
  reportsFreeSlots: boolean,
  listsJobs: boolean,
  startsLate: boolean,
  silenceMsMax: number,
][] = [
  ['1.3.0', false, false, true, false, 60_000],
  ['1.7.5', false, false, true, true, 60_000],
  ['1.7.6', false, true, true, true, 60_000],
  ['1.7.10', false, true, true, true, 60_000],
  ['1.7.11', false, true, false, true, 45_000],
  ['1.7.13', false, true, false, true, 45_000],
  ['1.7.0', false, false, true, false, 60_000],
  ['1.9.0', false, true, false, true, 45_000],
  ['1.9.1', false, true, false, false, 45_000],
  ['1.10.0', true, true, false, false, 45_000],
  ['1.10.1', true, true, true, false, 45_000],
  ['1.12.0', true, true, true, false, 45_000],
  ['2.0', true, true, true, false, 45_000],
  ['1.12.0.dev3', true, true, true, false, 45_000],
  ['', false, false, false, false, 45_000],
  ['mine', false, false, false, false, 45_000],
  ['slipway-0.1.0', true, true, true, false, Number.POSITIVE_INFINITY],
];

for (const [version, stopChannel, reportsFreeSlots, listsJobs, startsLate, silenceMsMax] of TABLE) {
  const sendsAgain = version.startsWith('slipway-');
  t.same(
    sdkTraits(version),
    { stopChannel, reportsFreeSlots, listsJobs, startsLate, sendsAgain, silenceMsMax },
    version || 'unknown',
  );
}

t.test('User-Agent', async (t) => {
  t.equal(versionFromUserAgent('RunPod-Python-SDK/1.12.0 (Linux 6.1; x86_64) Language/Python 3.11.2'), '1.12.0');
  t.equal(versionFromUserAgent('Slipway-Worker/0.1.0'), 'slipway-0.1.0');
  t.equal(versionFromUserAgent('python-requests/2.32'), '');
  t.equal(versionFromUserAgent(undefined), '');
});
