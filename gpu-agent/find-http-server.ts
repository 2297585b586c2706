/** Finds the HTTP server of a worker or pod of this machine by the name in a tunnel's request. */
import type { AttemptParts } from './build-attempts.ts';
import type { PodRegistry } from './workloads/pods/pod-registry.ts';

/** Returns the address at which it listens; `undefined` if there is none. `name`: a worker's id, or `POD:PORT`. */
export function findHttpServer(
  name: string,
  pool: AttemptParts['pool'],
  pods: PodRegistry,
): { host: string; port: number } | undefined {
  const [, podId, port] = /^([a-z0-9]+):(\d{1,5})$/.exec(name) ?? [];
  if (podId !== undefined) return pods.get(podId)?.httpPort(Number(port));
  const worker = pool.get(name);
  return worker?.http && worker.address ? { host: worker.address, port: worker.http.port } : undefined;
}
