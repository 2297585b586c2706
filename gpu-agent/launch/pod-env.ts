/**
 * The environment of a pod: its identity and assigned resources override its owner's variables, which override a few of
 * the host's. Pure.
 */

import type { HostFacts } from './host-env.ts';
import { gpuVariables, hostDefaults, nameVariables } from './host-env.ts';

/** Facts from which a pod's environment is built. */
export interface PodEnvFacts extends HostFacts {
  podId: string;
  /** The owner's variables. */
  userEnv: Readonly<Record<string, string>>;
}

/** Returns the complete environment of a pod's process. */
export function buildPodEnv(facts: PodEnvFacts): Record<string, string> {
  const { hostEnv, userEnv, podId } = facts;
  return {
    ...hostEnv,
    ...hostDefaults(facts),
    ...userEnv,
    ...gpuVariables(facts, userEnv.CUDA_VISIBLE_DEVICES),
    ...nameVariables(podId, facts),
  };
}
