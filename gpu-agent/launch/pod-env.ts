/**
 * The environment of a pod: who it is and what it was given, over its owner's variables, over a few of the host's.
 * Pure.
 */

import type { HostFacts } from './host-env.ts';
import { gpuVariables, hostDefaults, nameVariables } from './host-env.ts';

/** What a pod's environment is made from. */
export interface PodEnvFacts extends HostFacts {
  podId: string;
  /** Its own variables. */
  userEnv: Readonly<Record<string, string>>;
}

/** The whole environment of a pod's process. */
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
