/**
 * Completion notices for queues in PostgreSQL that have none of their own: workers send the ids of finished jobs by NOTIFY, as many in one
 * as fit, and who waits for a job hears of it. Batched on both sides, so that the peers lose as little by it as can be.
 */
import postgres from 'postgres';

const CHANNEL = 'bench_done';
/** PostgreSQL takes payloads below 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_900;

/** Resolves waits. */
export interface Notices {
  /** Resolves once the job is finished. */
  finished(id: string): Promise<void>;
}

/** Hears notices. A notice may come before somebody waits for it. */
export async function hearNotices(store: string): Promise<Notices> {
  const early = new Set<string>();
  const waiting = new Map<string, () => void>();
  await postgres(store, { max: 1 }).listen(CHANNEL, (payload) => {
    for (const id of payload.split(',')) {
      const resolve = waiting.get(id);
      if (!resolve) early.add(id);
      waiting.delete(id);
      resolve?.();
    }
  });
  return {
    finished: (id) => (early.delete(id) ? Promise.resolve() : new Promise((resolve) => { waiting.set(id, resolve); })),
  };
}

/** Sends notices: what comes while one is under way leaves with the next. */
export function noticeSender(store: string): (ids: readonly string[]) => void {
  const sql = postgres(store, { max: 1 });
  let pending: string[] = [];
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
