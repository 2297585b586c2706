/**
 * Completion notices for queues in PostgreSQL that have none of their own. Workers send the ids of finished jobs by
 * NOTIFY, as many in one notice as fit, and callers that wait for a job are notified. Both sides work in batches, so
 * that the peers lose as little as possible.
 */
import postgres from 'postgres';

const CHANNEL = 'bench_done';
/** Size of a payload, in bytes. PostgreSQL accepts payloads below 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_900;

/** Waits for finished jobs. */
interface Notices {
  /** Resolves once the job is finished, with its output if there is one. */
  finished(id: string): Promise<unknown>;
}

/**
 * Listens for notices. A notice may come before anybody waits for it. `outputsOf`: reads outputs from the store, once
 * for all jobs of a notice.
 */
export async function hearNotices(
  store: string,
  outputsOf?: (ids: readonly string[]) => Promise<Map<string, unknown>>,
): Promise<Notices> {
  const early = new Map<string, unknown>();
  const waiting = new Map<string, (output: unknown) => void>();
  await postgres(store, { max: 1 }).listen(CHANNEL, async (payload) => {
    const ids = payload.split(',');
    const outputs = await outputsOf?.(ids);
    for (const id of ids) {
      const output = outputs?.get(id);
      const resolve = waiting.get(id);
      if (!resolve) early.set(id, output);
      waiting.delete(id);
      resolve?.(output);
    }
  });
  return {
    finished: async (id) => {
      if (!early.has(id))
        return new Promise((resolve) => {
          waiting.set(id, resolve);
        });
      const output = early.get(id);
      early.delete(id);
      return output;
    },
  };
}

/** Returns a function that sends notices. Ids that arrive while a notice is being sent leave with the next one. */
export function noticeSender(store: string): (ids: readonly string[]) => void {
  const sql = postgres(store, { max: 1 });
  const pending: string[] = [];
  let sending = false;
  const send = async (): Promise<void> => {
    sending = true;
    while (pending.length > 0) {
      let bytes = 0;
      const fits = pending.findIndex((id) => (bytes += id.length + 1) > PAYLOAD_BYTES_MAX);
      const batch = pending.splice(0, fits < 0 ? pending.length : fits);
      await sql.notify(CHANNEL, batch.join(','));
    }
    sending = false;
  };
  return (ids) => {
    pending.push(...ids);
    if (!sending) void send();
  };
}
