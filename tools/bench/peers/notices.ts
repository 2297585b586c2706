/**
 * Completion notices for queues in PostgreSQL that have none of their own: workers send the ids of finished jobs by
 * NOTIFY, as many in one as fit, and who waits for a job hears of it. Batched on both sides, so that the peers lose as
 * little by it as can be.
 */
import postgres from 'postgres';

const CHANNEL = 'bench_done';
/** PostgreSQL takes payloads below 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_900;

/** Resolves waits. */
export interface Notices {
  /** Resolves once the job is finished, with its output where there is one. */
  finished(id: string): Promise<unknown>;
}

/**
 * Hears notices. A notice may come before somebody waits for it. `outputsOf`: reads what the store has, once for all
 * jobs of a notice.
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

/** Sends notices: what comes while one is under way leaves with the next. */
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
