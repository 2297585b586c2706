/** Which registries of images may have addresses of private networks: one rule of core, for names, and of agents, for what they resolve to. */
import { isPrivateHost } from './private-address.ts';

/** All, none, or these, each `host` or `host:port`. */
export type PrivateRegistries = boolean | readonly string[];

/** Whether a registry, `host` or `host:port`, may be anywhere. */
export function mayBePrivate(rule: PrivateRegistries, registry: string): boolean {
  if (typeof rule === 'boolean') return rule;
  const named = registry.toLowerCase();
  return rule.some((each) => [named, hostOf(named)].includes(each.toLowerCase()));
}

/** Whether a registry is private by its name alone. */
export function isPrivateByName(registry: string): boolean {
  return isPrivateHost(hostOf(registry));
}

/** Without its port. */
export function hostOf(registry: string): string {
  return registry.toLowerCase().replace(/:\d+$/, '');
}

/** Whether images may be of a registry by its name alone. */
export function mayAskByName(rule: PrivateRegistries): (registry: string) => boolean {
  return (registry) => mayBePrivate(rule, registry) || !isPrivateByName(registry);
}
