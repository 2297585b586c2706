/** Who has a GPU on the console's map, and whose workers are in host memory behind it. */
import { machineView } from '@slipway/facades/console/api/machines';
import { StandbyLevel, Worker, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { MachineStatus } from '@slipway/proto/gen/slipway/v1/machine_service';
import t from 'tap';

const status = MachineStatus.fromPartial({ machine: { id: 'm', gpus: [{ uuid: 'GPU-1' }] }, connected: true });
const worker = (id: string, fields: Partial<Worker>): Worker =>
  Worker.fromPartial({
    id,
    endpointName: `endpoint ${id}`,
    machineId: 'm',
    gpuUuids: ['GPU-1'],
    capacity: 1,
    ...fields,
  });
const inHost = { state: WorkerState.FROZEN, standbyLevel: StandbyLevel.HOST };

t.test('the running worker has the GPU, in any order; others are behind it', async (t) => {
  const workers = [worker('a', inHost), worker('b', { state: WorkerState.READY, held: 1 }), worker('c', inHost)];
  for (const order of [workers, workers.toReversed()]) {
    const [gpu] = machineView(status, order)[0]!.gpus;
    t.match(gpu, { heldBy: 'worker', workerId: 'b', busy: 1 });
    t.strictSame(gpu!.offloaded.toSorted(), ['endpoint a', 'endpoint c']);
  }
});

t.test('a GPU is free while all of its workers are in host memory, and not if an operator suspended one', async (t) => {
  t.match(machineView(status, [worker('a', inHost)])[0]!.gpus, [{ heldBy: '', offloaded: ['endpoint a'] }]);
  const suspended = worker('a', { ...inHost, suspended: true });
  t.match(machineView(status, [suspended])[0]!.gpus, [{ heldBy: 'worker', workerId: 'a', offloaded: [] }]);
});
