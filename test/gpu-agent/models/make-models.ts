/** The models of one machine, as an agent has them, with a core that knows no other machine unless told. */
import { join } from 'node:path';
import type { WantedModel } from '@slipway/gpu-agent/models/model-puller';
import { ModelPuller } from '@slipway/gpu-agent/models/model-puller';
import type { ModelRecord } from '@slipway/gpu-agent/models/model-record';
import { ModelStatusTable } from '@slipway/gpu-agent/models/model-status';
import { ModelStore } from '@slipway/gpu-agent/models/model-store';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { ModelPeer } from '@slipway/proto/gen/slipway/v1/agent_service';

const GB = 1000 ** 3;

/** Options of a machine. */
interface MachineOptions {
  hubAddress: string;
  limitBytes?: number;
  peers?: readonly ModelPeer[];
  /** Commit that core returns. Default: the one that it is asked for. */
  commit?: string;
  silenceMs?: number;
}

/** Opens the models in a folder. */
export async function openModels(
  folder: string,
  { hubAddress, limitBytes = GB, peers = [], commit, silenceMs = 60_000 }: MachineOptions,
) {
  const seams = { clock: systemClock, random: systemRandom };
  const store = new ModelStore({ path: join(folder, 'models'), limitBytes: () => limitBytes, ...seams });
  await store.open();
  const status = new ModelStatusTable();
  const settled: string[] = [];
  const puller = new ModelPuller({
    ...seams,
    logger: createLogger('test', 'silent'),
    store,
    status,
    settle: async (request) => {
      settled.push(request.commit);
      return { commit: commit ?? request.commit, peers: [...peers] };
    },
    silenceMs,
    filesAtOnce: 2,
    pause: { firstMs: 1, maxMs: 2 },
    triesMax: 4,
  });
  const wanted = (repository: string, more: Partial<WantedModel> = {}): WantedModel => ({
    repository,
    revision: 'main',
    commit: '',
    hubAddress,
    hubToken: '',
    endpointId: 'endpoint',
    version: 0,
    accountNumber: 1,
    ...more,
  });
  const never = new AbortController().signal;
  const lines: string[] = [];
  return {
    store,
    status,
    puller,
    settled,
    lines,
    wanted,
    /** Brings a model. */
    bring: (repository: string, more: Partial<WantedModel> = {}, signal: AbortSignal = never): Promise<ModelRecord> =>
      puller.prepare(wanted(repository, more), (line) => lines.push(line), signal),
    /** Returns why a model is not brought. */
    fails: (repository: string, more: Partial<WantedModel> = {}): Promise<{ fault?: string; message: string }> =>
      puller
        .prepare(wanted(repository, more), () => undefined, never)
        .then(
          () => ({ message: 'it was brought' }),
          (error: Error & { fault?: string }) => error,
        ),
  };
}
