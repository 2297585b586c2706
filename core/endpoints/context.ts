/** What the use cases of endpoints, templates and machines work with. */
import type { Random } from '../runtime/clock.ts';
import type { Sealer } from '../runtime/seal.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';
import type { MachineStore } from '../store/machine-store.ts';
import type { ScaleStore } from '../store/scale-store.ts';
import type { TemplateStore } from '../store/template-store.ts';
import type { VolumeStore } from '../store/volume-store.ts';
import type { WorkerStore } from '../store/worker-store.ts';

export interface EndpointContext {
  endpoints: EndpointStore;
  templates: TemplateStore;
  machines: MachineStore;
  workers: WorkerStore;
  volumes: VolumeStore;
  scales: Pick<ScaleStore, 'refusals'>;
  sealer: Sealer;
  random: Random;
  /** Deletes all jobs of an endpoint. */
  deleteJobs(endpointId: string): Promise<number>;
  /** Endpoints came, changed or went: verdicts and scaling must look again, here and on other replicas. */
  onChanged(endpointIds: readonly string[]): void;
  /** Keys were revoked or bound: what is remembered of them is void, here and on other replicas. */
  onKeysChanged(keyIds: readonly string[]): void;
  /** The desired workers of machines changed. */
  onDesired(machineIds: readonly string[]): void;
}
