/**
 * Loads Slipway for a simulation: webhooks go to the simulated receiver, health checks to simulated workers, and a
 * planted bug is patched into the source as it is loaded. Nothing else is replaced.
 */
import { registerHooks } from 'node:module';
import type { Patch } from './planted-bug.ts';

/** Modules that take another HTTP client, by the end of their path. */
const HTTP_CLIENTS: Readonly<Record<string, string>> = {
  '/core/singleton-tasks/webhook-caller.ts': './parts/webhook-receiver.ts',
  '/gpu-agent/workloads/http/ask-health.ts': './balancing/worker-http.ts',
  '/gpu-agent/workloads/http/single-use.ts': './balancing/worker-http.ts',
};

/** gRPC would list each server until the process ends, and with it all of its replica. */
const UNLISTED: Patch = {
  file: 'kit/net/channel.ts',
  find: 'new Server({ ...CHANNEL_OPTIONS,',
  put: "new Server({ ...CHANNEL_OPTIONS, 'grpc.enable_channelz': 0,",
};

/** Loads the modules for the simulation. Must be called before they are imported. */
export function loadForSimulation(patches: readonly Patch[] = []): void {
  registerHooks({
    resolve(specifier, context, next) {
      const [, client] = Object.entries(HTTP_CLIENTS).find(([path]) => context.parentURL?.endsWith(path)) ?? [];
      if (specifier !== '@slipway/kit/net/node-http' || client === undefined) return next(specifier, context);
      return { url: new URL(client, import.meta.url).href, shortCircuit: true };
    },
    load(url, context, next) {
      const loaded = next(url, context);
      const due = [UNLISTED, ...patches].filter(({ file }) => url.endsWith(`/${file}`));
      if (due.length === 0) return loaded;
      let source = String(loaded.source);
      for (const { file, find, put } of due) {
        if (source.split(find).length !== 2) throw new Error(`${file} no longer has exactly one: ${find}`);
        source = source.replace(find, () => put);
      }
      return { ...loaded, source };
    },
  });
}
