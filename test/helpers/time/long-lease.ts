/**
 * Doubles the leases of the core that imports it. Agents then have time to reconnect within their lease on a busy
 * machine. LONG_LEASE is the environment of such a core.
 */
import { registerHooks } from 'node:module';

const LEASE = /(?<=LEASE_MS = )10_000(?=;)/;

/** Environment of a core that gives long leases. */
export const LONG_LEASE = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${import.meta.url}` };

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (!url.endsWith('/core/domain/machines/lease.ts')) return loaded;
    const source = String(loaded.source);
    if (!LEASE.test(source)) throw new Error('the lease is no longer where long-lease.ts looks for it');
    return { ...loaded, source: source.replace(LEASE, '20_000') };
  },
});
