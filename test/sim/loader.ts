/**
 * Loads core for a simulation: webhooks go to the simulated receiver, and a planted bug is patched into the source as
 * it is loaded. Nothing else of core is replaced.
 */
import { registerHooks } from 'node:module';
import type { Patch } from './planted.ts';

/** Loads core's modules for the simulation. Must be called before core is imported. */
export function loadForSimulation(patches: readonly Patch[] = []): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (
        specifier === '@slipway/kit/net/node-http' &&
        context.parentURL?.endsWith('/core/singleton-tasks/webhook-caller.ts')
      )
        return { url: new URL('./parts/webhook-receiver.ts', import.meta.url).href, shortCircuit: true };
      return next(specifier, context);
    },
    load(url, context, next) {
      const loaded = next(url, context);
      const due = patches.filter(({ file }) => url.endsWith(`/${file}`));
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
