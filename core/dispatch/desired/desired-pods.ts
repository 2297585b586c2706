/**
 * Reads the desired pods of one session. The start message of a pod is read once for each run, because it is fixed
 * for one run.
 */
import type { DesiredPod } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { DesiredPodRow } from '../../store/pods/pod-report-store.ts';
import type { Stores } from '../../store/storage.ts';
import type { OpenCredentials } from '../agent-messages.ts';
import { podToDesired, stoppedPod } from './agent-pod-messages.ts';
import type { SecretResolver } from './secret-resolver.ts';

/** Returns a fingerprint of desired pods, to detect changes since the last message. */
export function podPicture(rows: readonly DesiredPodRow[]): string {
  return rows.map((row) => `${row.id}=${row.desired}/${row.run}/${row.disk}`).join();
}

/** Returns the messages of all pods by id. `before`: the messages sent last. */
export async function desiredPods(
  store: Stores['podReports'],
  rows: readonly DesiredPodRow[],
  before: ReadonlyMap<string, DesiredPod> | undefined,
  secrets: SecretResolver,
  open: OpenCredentials,
): Promise<Map<string, DesiredPod>> {
  const isKnown = ({ id, run, disk }: DesiredPodRow): boolean => {
    const known = before?.get(id);
    return known !== undefined && known.running && known.refusal === '' && known.run === run && known.disk === disk;
  };
  const fresh = rows.filter((row) => row.desired === 'RUNNING' && !isKnown(row)).map((row) => row.id);
  const specs = new Map((fresh.length === 0 ? [] : await store.specsOf(fresh)).map((spec) => [spec.id, spec]));
  const resolve = await secrets.of([...specs.values()]);
  const messages = new Map<string, DesiredPod>();
  for (const row of rows) {
    const spec = specs.get(row.id);
    if (row.desired === 'EXITED') messages.set(row.id, stoppedPod(row));
    else if (spec) messages.set(row.id, podToDesired(spec, resolve, open));
    else if (isKnown(row)) messages.set(row.id, before!.get(row.id)!);
    // A pod without a specification was deleted between the two reads; the next pass drops it.
  }
  return messages;
}
