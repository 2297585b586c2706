/** What the use cases of pods work with. */
import type { Random } from '../runtime/clock.ts';
import type { MachineStore } from '../store/machine-store.ts';
import type { PodStore } from '../store/pod-store.ts';
import type { PodViewStore } from '../store/pod-view-store.ts';
import type { TemplateStore } from '../store/template-store.ts';
import type { WorkerStore } from '../store/worker-store.ts';

export interface PodContext {
  pods: PodStore;
  podViews: PodViewStore;
  templates: TemplateStore;
  workers: Pick<WorkerStore, 'ended'>;
  machines: Pick<MachineStore, 'reportedTypes'>;
  random: Random;
  /** What machines should have has changed. */
  onDesired(machineIds: readonly string[]): void;
}
