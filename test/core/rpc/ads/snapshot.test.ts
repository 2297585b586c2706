/**
 * Envoy's configuration as a pure function: equal for equal endpoints, and a change of an endpoint changes no more than
 * its own part.
 */

import type { Snapshot } from '@slipway/core/rpc/ads/snapshot';
import {
  ASSIGNMENT_TYPE,
  CLUSTER_TYPE,
  changesOf,
  clusterOf,
  loadAssignmentOf,
  snapshotOf,
} from '@slipway/core/rpc/ads/snapshot';
import type { EndpointBackends } from '@slipway/core/store/machines/edge-store';
import { readActivation } from '@slipway/kit/net/activation';
import { clusterName } from '@slipway/kit/net/edge-authorizer';
import { Cluster } from '@slipway/proto/gen/envoy/config/cluster/v3/cluster';
import { HealthStatus } from '@slipway/proto/gen/envoy/config/core/v3/core';
import type { LbEndpoint } from '@slipway/proto/gen/envoy/config/endpoint/v3/endpoint';
import { ClusterLoadAssignment } from '@slipway/proto/gen/envoy/config/endpoint/v3/endpoint';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../../helpers/time/seeded-random.ts';

const reached = fc.record({
  id: fc.stringMatching(/^[a-z0-9]{14}$/),
  ready: fc.boolean(),
  draining: fc.boolean(),
  address: fc.oneof(
    fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `${ip}:${port}`),
    fc.constantFrom('', '[::1]:80', 'host:80'),
  ),
  tunnelMachineId: fc.constant(''),
  surplus: fc.boolean(),
});
const tunnelled = reached.map((one) => ({ ...one, address: '', tunnelMachineId: 'machine' }));
const worker = fc.oneof({ weight: 5, arbitrary: reached }, tunnelled);
const endpoint: fc.Arbitrary<EndpointBackends> = fc.record({
  endpointId: fc.stringMatching(/^[a-z0-9]{6}$/),
  accountId: fc.constant('a'),
  workerConcurrency: fc.constantFrom(1, 99, 100, 1_000),
  workersMax: fc.constantFrom(0, 3, 1_000),
  scalerValue: fc.constant(4),
  h2c: fc.boolean(),
  singleUse: fc.boolean(),
  workers: fc.uniqueArray(worker, { selector: ({ id }) => id, maxLength: 6 }),
});
const endpoints = fc.uniqueArray(endpoint, { selector: ({ endpointId }) => endpointId, maxLength: 8 });
const ACTIVATORS = { activators: ['10.0.0.2:8080', '10.0.0.1:8080'], edgeKey: 'a key of this test' };
const versions = (snapshot: Snapshot, type: string): Map<string, string> =>
  new Map([...snapshot.get(type)!].map(([name, { version }]) => [name, version]));

t.test('order of endpoints and activators makes no difference, nor does another run', async () => {
  fc.assert(
    fc.property(endpoints, (list) => {
      const again = structuredClone(list).toReversed();
      const [one, two] = [
        snapshotOf(list, ACTIVATORS),
        snapshotOf(again, { ...ACTIVATORS, activators: ACTIVATORS.activators.toReversed() }),
      ];
      for (const type of [CLUSTER_TYPE, ASSIGNMENT_TYPE])
        if (changesOf(versions(one, type), two.get(type)!).changed.length > 0) return false;
      return true;
    }),
    { seed: SEED },
  );
});

t.test('what changed is sent and nothing else; workers change no cluster', async () => {
  fc.assert(
    fc.property(endpoints, endpoint, worker, (list, other, added) => {
      fc.pre(list.every(({ endpointId }) => endpointId !== other.endpointId));
      const before = snapshotOf([...list, other], ACTIVATORS);
      const ready = { ...added, ready: true, draining: false, address: '10.9.9.9:1', tunnelMachineId: '' };
      const after = snapshotOf([...list, { ...other, workerConcurrency: 100, workers: [ready] }], ACTIVATORS);
      const clusters = changesOf(versions(before, CLUSTER_TYPE), after.get(CLUSTER_TYPE)!);
      const assignments = changesOf(versions(before, ASSIGNMENT_TYPE), after.get(ASSIGNMENT_TYPE)!);
      const gone = changesOf(versions(after, CLUSTER_TYPE), snapshotOf(list, ACTIVATORS).get(CLUSTER_TYPE)!);
      return (
        clusters.changed.length + clusters.removed.length === 0 &&
        assignments.removed.length === 0 &&
        assignments.changed.every(({ name }) => name === clusterName(other.endpointId)) &&
        gone.changed.length === 0 &&
        gone.removed.join() === clusterName(other.endpointId)
      );
    }),
    { seed: SEED },
  );
});

t.test(
  'ready workers first unless one is behind a tunnel, activators second, who alone are told whose it is; no name ' +
    'that is no address',
  async () => {
    fc.assert(
      fc.property(endpoint, (one) => {
        const {
          endpoints: [first, second],
          policy,
        } = ClusterLoadAssignment.decode(loadAssignmentOf(one, ACTIVATORS).bytes);
        const lb = ({ metadata }: LbEndpoint): Record<string, string> =>
          metadata?.filterMetadata['envoy.lb'] as Record<string, string>;
        const of = (status: HealthStatus) =>
          first!.lbEndpoints.filter(({ healthStatus }) => healthStatus === status).map((host) => lb(host)['worker']);
        const [healthy, degraded] = [of(HealthStatus.HEALTHY), of(HealthStatus.DEGRADED)];
        const there = one.workers.filter(
          ({ address }) => /^[[\d]/.test(address) && (one.h2c || one.workerConcurrency >= 100),
        );
        const told = second!.lbEndpoints.map(
          (host) => readActivation([ACTIVATORS.edgeKey], lb(host)?.['activation'] ?? '')?.endpointId,
        );
        const entered =
          !one.h2c && one.workers.some(({ ready, tunnelMachineId }) => ready && tunnelMachineId !== '') ? [] : there;
        const taking = entered.filter(({ ready, draining }) => ready && !draining);
        const takers = (over: boolean): string =>
          taking
            .filter(({ surplus }) => surplus === over)
            .map(({ id }) => id)
            .join();
        return (
          healthy.join() === takers(false) &&
          degraded.join() === takers(true) &&
          first!.lbEndpoints.map((host) => lb(host)['worker']).join() === there.map(({ id }) => id).join() &&
          first!.lbEndpoints.every((host) => !('activation' in lb(host))) &&
          told.join() === (one.h2c ? [undefined] : [one.endpointId, one.endpointId]).join() &&
          second!.priority === 1 &&
          policy?.overprovisioningFactor === 100_000
        );
      }),
      { seed: SEED },
    );
  },
);

t.test(
  'requests at a time are bounded for each endpoint, by 2,000 or as many as all its workers may have',
  async (t) => {
    const bound = (workersMax: number): number | undefined => {
      const one = {
        endpointId: 'e',
        accountId: 'a',
        workerConcurrency: 100,
        workersMax,
        scalerValue: 4,
        h2c: false,
        singleUse: false,
        workers: [],
      };
      const cluster = Cluster.decode(clusterOf(one).bytes);
      const { maxConnections = 0, maxRequests = 0 } = cluster.circuitBreakers!.thresholds[0]!;
      t.ok(
        maxConnections > maxRequests,
        'one more gets a connection, by which it is refused at once: without one it would wait',
      );
      return maxRequests;
    };
    t.same([0, 3, 100, 101, 500].map(bound), [2_000, 2_000, 2_000, 2_020, 10_000]);
  },
);
