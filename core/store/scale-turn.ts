/** One endpoint's turn while it is locked: the sample again under the placement lock with machines, and what was decided written. */
import type { GpuContest } from '../domain/fair-share.ts';
import type { MachineCrashes } from '../domain/machine-crashes.ts';
import type { FleetSample } from '../domain/place-workers.ts';
import { placeWorker } from '../domain/placement.ts';
import type { PlacementMachine, PlacementRequest } from '../domain/placement-filters.ts';
import { workerOverQuota } from '../domain/quota.ts';
import type { QuotaState } from '../domain/quota.ts';
import { checkFleetSample, fleetSample, wishedChanges } from '../domain/scale-decision.ts';
import type { Decision, DecisionSample, DecisionSummary } from '../domain/scale-decision.ts';
import type { Scaler } from '../domain/scaler.ts';
import type { Sql } from './database.ts';
import { preemptWorkers, readGivingWay } from './gpu-contest.ts';
import { settledDigest } from './image-rows.ts';
import { placementView } from './placement-view.ts';
import { sampledWorkers } from './scale-samples.ts';
import type { EndpointSample, EndpointVersion } from './scale-samples.ts';
import { evictStandbys, freezeWorkers, wakeStandbys } from './standby-rows.ts';
import type { TurnFleet } from './turn-fleet.ts';
import type { TurnWrites } from './turn-writes.ts';
import { lockedInOrder } from './worker-order.ts';

/** What one endpoint's turn may do while it is locked. */
export interface ScaleTurn {
  /** What was seen, without the fleet. */
  sample: DecisionSample;
  /** What was decided last; undefined: nothing yet. */
  before: DecisionSummary | undefined;
  /**
   * The same as it is under the placement lock, with the fleet. The lock is kept until the turn ends, so that nothing that is placed, frozen, woken
   * or evicted crosses another such thing. `dispensable`: workers of other endpoints that may be asked to give way.
   */
  withFleet(scaler: Scaler, dispensable: readonly string[]): Promise<DecisionSample>;
  /** Does what was decided. `newId` names a new worker. Answers what changed. */
  commit(decision: Decision, newId: () => string): Promise<TurnChanges>;
  /** Keeps the decision, and appends it to the log with its sample: when the turns that are taken together are over. */
  log(decision: Decision, sample: DecisionSample): void;
  /** Keeps what each machine says now of a decision that says nothing new, likewise. */
  note(decision: Decision): void;
}

/** What a turn changed. */
export interface TurnChanges {
  added: string[];
  drained: string[];
  retired: string[];
  woken: string[];
  frozen: string[];
  /** Workers of other endpoints. */
  preempted: string[];
  /** Machines whose desired workers changed. */
  machineIds: string[];
}

/** What turns of one transaction share. */
export interface TurnContext {
  sql: Sql;
  fleet: TurnFleet;
  written: TurnWrites;
  /** Of versions that are checked. */
  checkedCrashes: ReadonlyMap<string, readonly MachineCrashes[]>;
}

/** Versions that are checked beside those that are scaled. */
export function checkedVersions(found: readonly EndpointSample[]): EndpointVersion[] {
  return found.flatMap(({ endpoint: { id }, sample: { settings: { rollout, checked } } }) => (rollout && checked ? [{ id, version: rollout.released }] : []));
}

/** A turn at a locked endpoint. */
export function turnOf(context: TurnContext, { endpoint, sample, before }: EndpointSample): ScaleTurn {
  const { sql, fleet, written } = context;
  return {
    sample,
    before,
    withFleet: async (scaler, dispensable) => {
      await fleet.open();
      // What others did to these workers until the lock was had is seen now, and nothing more until it is given back.
      const held = new Map(sample.demand.workers.map(({ id, held: attempts }) => [id, attempts]));
      const rows = fleet.workersOf(endpoint.id).map(({ endpointId: _, ...worker }) => ({ ...worker, held: held.get(worker.id) ?? 0 }));
      const fresh = { ...sample, demand: { ...sample.demand, workers: sampledWorkers(rows, endpoint) } };
      const { retire, yields, check } = wishedChanges(fresh, scaler);
      const givesWay = endpoint.gpuCount > 0 && dispensable.length > 0;
      if (givesWay || fleet.readsAnew(endpoint)) await written.all();
      // Sent together: whoever waits for the lock waits for each answer.
      const [contest, giving, machines, quota] = await Promise.all([
        fleet.contestOf(endpoint),
        givesWay ? readGivingWay(sql, endpoint.accountId, dispensable) : undefined,
        retire.length === 0 ? fleet.machinesFor(endpoint) : machinesWithout(context, endpoint, retire),
        fleet.quotaOf(endpoint.accountId),
      ]);
      const seen = fleetSample(fresh, machines, quota, scaler, { contest, giving, endpointId: endpoint.id });
      const exchanged = check ? {} : await exchangeFor(context, endpoint, seen, seen.request, { retire, yields });
      const checkFleet = check && await checkedFleet(context, endpoint, fresh, { retire, yields, quota, contest });
      return { ...fresh, fleet: { ...seen, ...exchanged }, ...(checkFleet && { checkFleet }) };
    },
    commit: async (decision, newId) => {
      const machines = new Map([...sample.demand.workers, ...fleet.workersOf(endpoint.id)].map((worker) => [worker.id, worker.machineId]));
      const changes = await commit({ sql, written, machines }, endpoint, decision, newId);
      fleet.apply(decision);
      return changes;
    },
    log: (decision, whole) => written.log(endpoint.id, decision, whole),
    note: (decision) => written.note(endpoint.id, decision),
  };
}

/** Machines and quota for the worker of the released version that starts beside those that serve. */
async function checkedFleet(
  context: TurnContext, endpoint: EndpointSample['endpoint'], sample: DecisionSample,
  { retire, yields, quota, contest }: { retire: readonly string[]; yields: string | undefined; quota: QuotaState; contest: GpuContest | undefined },
): Promise<FleetSample> {
  const { fleet, checkedCrashes } = context;
  const { id, rollout } = endpoint;
  const machines = fleet.machinesForChecked({ id, version: rollout!.released }, checkedCrashes.get(id) ?? []);
  const seen = checkFleetSample(sample, machines, quota, { contest });
  return { ...seen, ...await exchangeFor(context, endpoint, seen, sample.settings.checked!, { retire, yields }) };
}

/** Whether the worker that may go would make a place where there is none. */
async function exchangeFor(
  context: TurnContext, endpoint: EndpointSample['endpoint'], seen: FleetSample, request: PlacementRequest,
  { retire, yields }: { retire: readonly string[]; yields?: string | undefined },
): Promise<Pick<FleetSample, 'yields'>> {
  if (yields === undefined) return {};
  const isFull = seen.candidates.length === 0 || workerOverQuota(seen.quota, request.gpuCount) !== undefined;
  if (!isFull || seen.heldBack !== undefined || seen.keptBack !== undefined) return {};
  return 'refusal' in placeWorker(await machinesWithout(context, endpoint, [...retire, yields]), request) ? {} : { yields };
}

/** Machines when some of the endpoint's workers are given up. */
async function machinesWithout(
  { sql, fleet, written }: Pick<TurnContext, 'sql' | 'fleet' | 'written'>, endpoint: EndpointSample['endpoint'], goneIds: readonly string[],
): Promise<PlacementMachine[]> {
  const { id: endpointId, version, imageName } = endpoint;
  await written.workers();
  const imageDigest = imageName === '' ? '' : await settledDigest(sql, { endpointId, version, imageName });
  return fleet.crashed(endpoint, await placementView(sql, { endpointId, imageName, imageDigest, goneIds }));
}

async function commit(
  { sql, written, machines }: Pick<TurnContext, 'sql' | 'written'> & { machines: ReadonlyMap<string, string> },
  { id: endpointId, version, rollout }: EndpointSample['endpoint'], { actions, rollout: step }: Decision, newId: () => string,
): Promise<TurnChanges> {
  const idsOf = (what: string): string[] => actions.flatMap((action) => (action.do !== 'ADD' && action.do === what ? [action.workerId] : []));
  const retired = idsOf('RETIRE');
  if (retired.length > 0) {
    await sql`UPDATE worker w SET desired = 'GONE', ended_at = now()
      FROM ${lockedInOrder(sql, sql`id = ANY(${retired}) AND ended_at IS NULL`)} AS l WHERE w.id = l.id`;
  }
  const frozen = await freezeWorkers(sql, idsOf('FREEZE'));
  const woken = await wakeStandbys(sql, idsOf('WAKE'));
  const drained = idsOf('DRAIN').map((id) => ({ id, machineId: machines.get(id)! }));
  written.drain(idsOf('DRAIN'));
  const preempted = await preemptWorkers(sql, idsOf('PREEMPT'), endpointId);
  const added = actions.flatMap((action) => (action.do === 'ADD' ? [{ ...action, id: newId() }] : []));
  await evictStandbys(sql, added.flatMap(({ evicted }) => evicted));
  written.add(added.map(({ id, ...action }) => ({ endpointId, version: action.version ?? version, id, action })));
  if (step && rollout) written.step({ endpointId, version: rollout.released, step });
  const ids = (workers: readonly { id: string }[]): string[] => workers.map(({ id }) => id);
  const machineIds = [...new Set([...frozen, ...woken, ...drained, ...preempted, ...added].map(({ machineId }) => machineId))];
  return { added: ids(added), drained: ids(drained), retired, woken: ids(woken), frozen: ids(frozen), preempted: ids(preempted), machineIds };
}
