/** Decides which image registries may have private addresses: core checks names, agents check resolved addresses. */
import { isPrivateHost } from './private-address.ts';

/** True: all registries. False: none. A list: these, each `host` or `host:port`. */
export type PrivateRegistries = boolean | readonly string[];

/** Returns whether a registry (`host` or `host:port`) may have a private address. */
export function mayBePrivate(rule: PrivateRegistries, registry: string): boolean {
  if (typeof rule === 'boolean') return rule;
  const named = registry.toLowerCase();
  return rule.some((each) => [named, hostOf(named)].includes(each.toLowerCase()));
}

/** Returns whether the name of a registry is private. */
export function isPrivateByName(registry: string): boolean {
  return isPrivateHost(hostOf(registry));
}

/** Returns the host without its port. */
export function hostOf(registry: string): string {
  return registry.toLowerCase().replace(/:\d+$/, '');
}

/** Returns a function that returns true if images of a registry are allowed, judged by its name alone. */
export function mayAskByName(rule: PrivateRegistries): (registry: string) => boolean {
  return (registry) => mayBePrivate(rule, registry) || !isPrivateByName(registry);
}
