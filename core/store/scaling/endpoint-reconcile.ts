/**
 * The reconcile of one locked endpoint: reads its sample again with machines under the placement lock, and writes the
 * decision.
 */

import type { QuotaState } from '../../domain/accounts/quota.ts';
import { workerOverQuota } from '../../domain/accounts/quota.ts';
import type { GpuContention } from '../../domain/scaling/fair-share.ts';
import { checkFleetSample, fleetSample } from '../../domain/scaling/fleet-sample.ts';
import type { MachineCrashes } from '../../domain/scaling/machine-crashes.ts';
import type { FleetSample } from '../../domain/scaling/place-workers.ts';
import { placeWorker } from '../../domain/scaling/placement.ts';
import type { PlacementMachine, PlacementRequest } from '../../domain/scaling/placement-machine.ts';
import type { Decision, DecisionSample, DecisionSummary } from '../../domain/scaling/scale-decision.ts';
import { wishedChanges } from '../../domain/scaling/scale-decision.ts';
import type { Scaler } from '../../domain/scaling/scaler.ts';
import type { Sql } from '../sql/database.ts';
import { resolvedDigest } from '../sql/image-rows.ts';
import { preemptWorkers, readPreemptible } from './gpu-contention.ts';
import type { ImageVersion } from './image-machines.ts';
import { readMovable } from './offload-samples.ts';
import { placementView } from './placement-view.ts';
import type { ReconcileFleet } from './reconcile-fleet.ts';
import type { ReconcileWrites } from './reconcile-writes.ts';
import type { EndpointSample } from './scale-samples.ts';
import { sampledWorkers } from './scale-samples.ts';
import { evictStandbys, freezeWorkers, offloadWorkers, resumeStandbys, retireWorkers } from './standby-rows.ts';

/** Operations on a locked endpoint. */
export interface EndpointReconcile {
  /** The sample without machines. */
  sample: DecisionSample;
  /** The previous decision, `undefined` if there is none. */
  previous: DecisionSummary | undefined;
  /**
   * Returns the current sample under the placement lock, with machines. The lock is held until the transaction ends, so
   * that no two placements, standby changes or evictions overlap. `preemptible`: workers of other endpoints that may be
   * preempted. `movable`: workers that may be offloaded.
   */
  withFleet(scaler: Scaler, others: OthersWorkers): Promise<DecisionSample>;
  /** Applies the decision. `newId` returns an id for a new worker. Returns the changes. */
  commit(decision: Decision, newId: () => string): Promise<ReconcileChanges>;
  /** Stores the decision and logs it with its sample, at the end of the transaction. */
  log(decision: Decision, sample: DecisionSample): void;
  /** Stores changed refusals by machine of an otherwise unchanged decision, at the end of the transaction. */
  updateRefusal(decision: Decision): void;
}

/** Workers of other endpoints that may make way. */
interface OthersWorkers {
  preemptible: readonly string[];
  movable: readonly string[];
}

/** Changes that a reconcile made. */
export interface ReconcileChanges {
  added: string[];
  drained: string[];
  retired: string[];
  resumed: string[];
  frozen: string[];
  /** Workers of other endpoints. */
  preempted: string[];
  /** Workers of any endpoint that go to host memory, and workers of this one that come back. */
  offloaded: string[];
  restored: string[];
  /** Retired workers whose move to or from host memory took too long. */
  late: string[];
  /** Machines whose desired workers changed. */
  machineIds: string[];
}

/** State shared by the reconciles of one transaction. */
interface ReconcileContext {
  sql: Sql;
  fleet: ReconcileFleet;
  written: ReconcileWrites;
  /** Crashes of checked versions. */
  checkedCrashes: ReadonlyMap<string, readonly MachineCrashes[]>;
}

/** Returns the versions that are checked beside the scaled ones. */
export function checkedVersions(found: readonly EndpointSample[]): ImageVersion[] {
  return found.flatMap(
    ({
      endpoint: { id },
      sample: {
        settings: { rollout, checked },
      },
    }) => (rollout && checked ? [{ id, version: rollout.released, imageName: checked.imageName }] : []),
  );
}

/** Returns the operations on a locked endpoint. */
export function reconcileOf(
  context: ReconcileContext,
  { endpoint, sample, previous }: EndpointSample,
): EndpointReconcile {
  const { sql, fleet, written } = context;
  return {
    sample,
    previous,
    withFleet: async (scaler, { preemptible, movable }) => {
      await fleet.open();
      // Changes that others made to these workers before the lock was acquired are visible now; none follow until it is
      // released.
      const held = new Map(sample.demand.workers.map(({ id, held: attempts }) => [id, attempts]));
      const rows = fleet
        .workersOf(endpoint.id)
        .map(({ endpointId: _, ...worker }) => ({ ...worker, held: held.get(worker.id) ?? 0 }));
      const fresh = { ...sample, demand: { ...sample.demand, workers: sampledWorkers(rows, endpoint) } };
      const { retire, yields, check } = wishedChanges(fresh, scaler);
      const mayPreempt = endpoint.gpuCount > 0 && preemptible.length > 0;
      if (mayPreempt || fleet.needsFreshRows(endpoint)) await written.flush();
      // Sent together: others wait for the lock during every round trip.
      const [contention, candidates, machines, quota, mayMove] = await Promise.all([
        fleet.contentionOf(endpoint),
        mayPreempt ? readPreemptible(sql, endpoint.accountId, preemptible) : undefined,
        retire.length === 0 ? fleet.machinesFor(endpoint) : machinesWithout(context, endpoint, retire),
        fleet.quotaOf(endpoint.accountId),
        endpoint.gpuCount > 0 ? readMovable(sql, movable) : [],
      ]);
      const seen = fleetSample(fresh, machines, quota, scaler, {
        contention,
        candidates,
        endpointId: endpoint.id,
        movable: mayMove,
      });
      const exchanged = check ? {} : await exchangeFor(context, endpoint, seen, seen.request, { retire, yields });
      const checkFleet = check && (await checkedFleet(context, endpoint, fresh, { retire, yields, quota, contention }));
      return { ...fresh, fleet: { ...seen, ...exchanged }, ...(checkFleet && { checkFleet }) };
    },
    commit: async (decision, newId) => {
      const machines = new Map(
        [...sample.demand.workers, ...fleet.workersOf(endpoint.id)].map((worker) => [worker.id, worker.machineId]),
      );
      const late = new Set(sample.demand.workers.flatMap(({ id, moveLate }) => (moveLate ? [id] : [])));
      const changes = await commit({ sql, fleet, written, machines, late }, endpoint, decision, newId);
      fleet.apply(decision);
      return changes;
    },
    log: (decision, whole) => written.log(endpoint.id, decision, whole),
    updateRefusal: (decision) => written.updateRefusal(endpoint.id, decision),
  };
}

/** Returns machines and quota for the worker of the released version that starts beside the others. */
async function checkedFleet(
  context: ReconcileContext,
  endpoint: EndpointSample['endpoint'],
  sample: DecisionSample,
  {
    retire,
    yields,
    quota,
    contention,
  }: {
    retire: readonly string[];
    yields: string | undefined;
    quota: QuotaState;
    contention: GpuContention | undefined;
  },
): Promise<FleetSample> {
  const { fleet, checkedCrashes } = context;
  const { id, rollout } = endpoint;
  const request = sample.settings.checked!;
  const released = { id, version: rollout!.released, imageName: request.imageName };
  const machines = fleet.machinesForChecked(released, checkedCrashes.get(id) ?? []);
  const seen = checkFleetSample(sample, machines, quota, { contention });
  return { ...seen, ...(await exchangeFor(context, endpoint, seen, request, { retire, yields, released })) };
}

/** Returns the worker whose stop would free a slot if there is none. */
async function exchangeFor(
  context: ReconcileContext,
  endpoint: EndpointSample['endpoint'],
  seen: FleetSample,
  request: PlacementRequest,
  {
    retire,
    yields,
    released = endpoint,
  }: { retire: readonly string[]; yields?: string | undefined; released?: ImageVersion },
): Promise<Pick<FleetSample, 'yields'>> {
  if (yields === undefined) return {};
  const isFull = seen.candidates.length === 0 || workerOverQuota(seen.quota, request.gpuCount) !== undefined;
  if (!isFull || seen.heldBack !== undefined || seen.keptBack !== undefined) return {};
  const machines = await machinesWithout(context, endpoint, [...retire, yields], released);
  return 'refusal' in placeWorker(machines, request) ? {} : { yields };
}

/** Returns machines as if some of the endpoint's workers were retired. `image`: the version whose image counts. */
async function machinesWithout(
  { sql, fleet, written }: Pick<ReconcileContext, 'sql' | 'fleet' | 'written'>,
  endpoint: EndpointSample['endpoint'],
  goneIds: readonly string[],
  image: ImageVersion = endpoint,
): Promise<PlacementMachine[]> {
  const { id: endpointId, version, imageName } = image;
  await written.flushWorkers();
  const imageDigest = imageName === '' ? '' : await resolvedDigest(sql, { endpointId, version, imageName });
  const machines = await placementView(sql, { endpointId, imageName, imageDigest, goneIds });
  return fleet.withCrashesOf(endpoint, fleet.withModelsOf(endpoint, machines));
}

/** State of a commit. */
interface CommitContext extends Pick<ReconcileContext, 'sql' | 'fleet' | 'written'> {
  /** Machines of workers, by id. */
  machines: ReadonlyMap<string, string>;
  /** Workers whose GPU memory is moved for too long. */
  late: ReadonlySet<string>;
}

async function commit(
  { sql, fleet, written, machines, late: lateIds }: CommitContext,
  { id: endpointId, version, rollout }: EndpointSample['endpoint'],
  { actions, rollout: step }: Decision,
  newId: () => string,
): Promise<ReconcileChanges> {
  const idsOf = (what: string): string[] =>
    actions.flatMap((action) => (action.do !== 'ADD' && action.do === what ? [action.workerId] : []));
  const retired = idsOf('RETIRE');
  // No row of a worker may be locked before the placement lock: its holder may wait for that row.
  const late = fleet.isOpen ? await retireWorkers(sql, retired) : retired.filter((id) => lateIds.has(id));
  if (!fleet.isOpen) written.retire(retired);
  const frozen = await freezeWorkers(sql, idsOf('FREEZE'));
  const resumed = await resumeStandbys(sql, idsOf('WAKE'));
  const placed = actions.flatMap((action) => (action.do === 'ADD' || action.do === 'RESTORE' ? [action] : []));
  await evictStandbys(sql, evictedBy(actions));
  // Before others get their GPUs.
  const offloaded = await offloadWorkers(sql, [
    ...idsOf('OFFLOAD'),
    ...placed.flatMap((action) => action.offloaded ?? []),
  ]);
  const restored = await resumeStandbys(sql, idsOf('RESTORE'));
  const drained = idsOf('DRAIN').map((id) => ({ id, machineId: machines.get(id)! }));
  written.drain(idsOf('DRAIN'));
  const preempted = await preemptWorkers(sql, idsOf('PREEMPT'), endpointId);
  const added = actions.flatMap((action) => (action.do === 'ADD' ? [{ ...action, id: newId() }] : []));
  written.add(added.map(({ id, ...action }) => ({ endpointId, version: action.version ?? version, id, action })));
  if (step && rollout) written.step({ endpointId, version: rollout.released, step });
  const ids = (workers: readonly { id: string }[]): string[] => workers.map(({ id }) => id);
  const machineIds = [
    ...new Set(
      [...frozen, ...resumed, ...offloaded, ...restored, ...drained, ...preempted, ...added].map(
        ({ machineId }) => machineId,
      ),
    ),
  ];
  return {
    added: ids(added),
    drained: ids(drained),
    retired,
    resumed: ids(resumed),
    frozen: ids(frozen),
    preempted: ids(preempted),
    offloaded: ids(offloaded),
    restored: ids(restored),
    late,
    machineIds,
  };
}

/** Returns the standby workers that end for others. */
function evictedBy(actions: Decision['actions']): string[] {
  return actions.flatMap((action) => ('evicted' in action ? action.evicted : []));
}
