/** Reads a machine, its workloads, and the endpoints that cannot be placed on it, for its operator. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import type { MachineModels } from '../domain/machines/cached-model.ts';
import type { GpuEvent } from '../domain/machines/gpu-health.ts';
import type { MachineExplanation } from '../domain/reports/machine-explanation.ts';
import { explainMachine } from '../domain/reports/machine-explanation.ts';
import { withCrashes } from '../domain/scaling/machine-crashes.ts';
import { withImages } from '../domain/scaling/placement-machine.ts';
import { checkText, invalid } from '../domain/settings/fields.ts';
import type { MachineStatus } from '../store/machines/machine-rows.ts';
import type {
  MachineAddress,
  MachineConnection,
  MachineImages,
  MachinePod,
  WaitingEndpoint,
} from '../store/reports/machine-view-store.ts';
import type { EndpointContext } from './endpoint-context.ts';
import { machineNotFound } from './forget-machine.ts';

/** An endpoint that waits for placement, and why this machine cannot take its worker. */
interface UnplaceableEndpoint {
  endpoint: WaitingEndpoint;
  refusal: Pick<MachineExplanation, 'refusedBy' | 'reason' | 'change'>;
}

/** A machine with its workloads. */
export interface MachinePage {
  status: MachineStatus;
  standing: MachineConnection;
  pods: MachinePod[];
  images: MachineImages;
  addresses: MachineAddress[];
  models: MachineModels;
  refusals: UnplaceableEndpoint[];
  /** The latest first. */
  gpuEvents: GpuEvent[];
}

type ReadContext = Pick<
  EndpointContext,
  'machines' | 'machineViews' | 'gpuHealth' | 'cachedModels' | 'cannotRun' | 'scales'
>;

/** Returns the machine with this id or name. Throws as `readMachine` does. */
export async function findMachine(
  { machines }: Pick<EndpointContext, 'machines'>,
  { scope }: Caller,
  named: string,
): Promise<MachineStatus> {
  if (scope !== 'ROOT') throw unauthorized();
  checkText('id', named);
  const [status, ...others] = await machines.find(named);
  if (!status) throw machineNotFound(named);
  if (others.length === 0) return status;
  const ids = [status, ...others].map(({ id }) => id).join(', ');
  throw invalid(`several machines are named ${JSON.stringify(named)}; use an id: ${ids}`);
}

/**
 * Returns a machine. `named`: its id or name. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there
 * is no such machine. INVALID_REQUEST: several machines have this name.
 */
export async function readMachine(context: ReadContext, caller: Caller, named: string): Promise<MachinePage> {
  const status = await findMachine(context, caller, named);
  const { id } = status;
  const { machineViews, gpuHealth, cachedModels } = context;
  const [standing, pods, images, addresses, models, disk, refusals, gpuEvents] = await Promise.all([
    machineViews.standing(id),
    machineViews.pods(id),
    machineViews.images(id),
    machineViews.addresses(id),
    cachedModels.list(id),
    cachedModels.diskOf(id),
    refusalsOf(context, id),
    gpuHealth.events(id),
  ]);
  // Deleted since.
  if (!standing) throw machineNotFound(named);
  return { status, standing, pods, images, addresses, models: { models, ...disk }, refusals, gpuEvents };
}

async function refusalsOf(
  { machineViews, cannotRun, scales }: ReadContext,
  id: string,
): Promise<UnplaceableEndpoint[]> {
  const waiting = await machineViews.waiting();
  if (waiting.length === 0) return [];
  const ids = waiting.map((endpoint) => endpoint.id);
  const [all, requests] = await Promise.all([cannotRun.machines(), scales.requestsOf(ids)]);
  const [crashes, images] = await Promise.all([scales.crashes(requests), scales.imageMachines(requests)]);
  return waiting.flatMap((endpoint) => {
    const request = requests.find((needs) => needs.id === endpoint.id);
    const machines = withImages(all, request && images.of(request));
    // Running workers elsewhere only affect the order of machines.
    const machine = withCrashes(
      machines.filter((other) => other.id === id),
      crashes.get(endpoint.id) ?? [],
      true,
    )[0];
    // Placement ignores machines that were away for a day.
    if (!request || !machine) return [];
    const { fits, refusedBy, reason, change } = explainMachine(machine, machines, request);
    return fits ? [] : [{ endpoint, refusal: { refusedBy, reason, change } }];
  });
}
