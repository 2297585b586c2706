import type { CapacityFacts } from '@slipway/gpu-agent/workloads/workers/capacity';
import { capacity, takeLimit } from '@slipway/gpu-agent/workloads/workers/capacity';
import { sdkTraits } from '@slipway/gpu-agent/workloads/workers/sdk-traits';
import t from 'tap';

const facts = (done: Partial<CapacityFacts>, version = '1.12.0'): CapacityFacts => ({
  asked: true,
  leaving: false,
  blocked: false,
  held: 0,
  requested: 0,
  declared: undefined,
  configured: 1,
  traits: sdkTraits(version),
  ...done,
});

t.test('before the first take', async (t) => t.equal(capacity(facts({ asked: false, requested: 3 })), 0));

t.test('an SDK that reports its free slots', async (t) => {
  t.equal(capacity(facts({ requested: 1 })), 1);
  t.equal(capacity(facts({ held: 3, requested: 2 })), 5);
  t.equal(capacity(facts({ held: 3 })), 3, 'no room while no take is open');
  t.equal(takeLimit(facts({ held: 3, requested: 2 }), 2), 2);
});

t.test('an older SDK is limited by the endpoint’s setting', async (t) => {
  for (const version of ['1.7.5', '1.6.2', '1.4.0', '']) {
    t.equal(capacity(facts({ requested: 4 }, version)), 1);
    t.equal(takeLimit(facts({ requested: 4 }, version), 4), 1);
    t.equal(takeLimit(facts({ held: 1, requested: 4 }, version), 4), 0, `${version} takes one at a time`);
    t.equal(takeLimit(facts({ held: 1, requested: 1, configured: 3 }, version), 1), 1);
    t.equal(takeLimit(facts({ held: 2, requested: 5, configured: 3 }, version), 5), 1);
    t.equal(capacity(facts({ held: 3, requested: 1, configured: 2 }, version)), 3, 'never less than it holds');
  }
});

t.test('a declared concurrency holds between takes', async (t) => {
  t.equal(capacity(facts({ declared: 50 }, 'slipway-0.1.0')), 50);
  t.equal(capacity(facts({ declared: 50, held: 50 }, 'slipway-0.1.0')), 50);
  t.equal(capacity(facts({ declared: 2, held: 5 }, 'slipway-0.1.0')), 5);
});

t.test('a leaving worker gets nothing', async (t) => {
  t.equal(capacity(facts({ leaving: true, held: 2, requested: 3 })), 2);
  t.equal(capacity(facts({ leaving: true, held: 2, declared: 9 })), 2);
  t.equal(
    capacity(facts({ blocked: true, held: 2, requested: 3, declared: 9 })),
    2,
    'an attempt should stop and does not',
  );
  t.equal(takeLimit(facts({ blocked: true, requested: 3 }), 3), 0);
  t.equal(takeLimit(facts({ leaving: true, requested: 3 }), 3), 0);
});
