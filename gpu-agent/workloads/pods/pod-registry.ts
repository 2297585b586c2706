/**
 * Reconciles the pods of this machine with core's list of desired pods. Each list is compared with the pods that exist,
 * not with the list before. A pod that is not listed is removed with its files, also a pod of a previous run of the
 * agent. No pod is removed before core has sent a list. Pods that are processes end with the agent, and the next agent
 * starts them again when core lists them. Pods in containers continue.
 */

import type { DesiredPod, PodReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import { awaitEnds } from '../await-ends.ts';
import type { AdoptablePod, PodParts } from './pod.ts';
import { Pod } from './pod.ts';
import { isPlain } from './pod-files.ts';

export class PodRegistry {
  readonly #parts: PodParts;
  readonly #pods = new Map<string, Pod>();
  /** Pods that a previous agent left running, until `begin`. */
  readonly #left = new Map<string, Pod>();
  #sweeping: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(parts: PodParts) {
    this.#parts = parts;
  }

  get(podId: string): Pod | undefined {
    return this.#pods.get(podId);
  }

  /** Returns the reports for core about all pods, including pods whose adoption has not begun. */
  reports(): PodReport[] {
    return [...this.#left.values(), ...this.#pods.values()].map((pod) => pod.report());
  }

  /**
   * Adopts a pod that a previous agent left, and reports it at once. It is not driven before `begin`. Core's desired
   * state for it is not known yet.
   */
  adopt(podId: string, { run, disk, image, gpuUuids }: AdoptablePod): void {
    const spec = WorkerSpec.fromPartial({ imageName: image, gpuUuids: [...gpuUuids] });
    this.#left.set(podId, new Pod({ podId, running: true, run, disk, spec, refusal: '' }, this.#parts, true));
  }

  /** Starts to drive the adopted pods that still run, and forgets the others. */
  begin(running: ReadonlySet<string>): void {
    for (const pod of this.#left.values()) if (running.has(pod.id)) this.#begin(pod);
    this.#left.clear();
  }

  /** Starts, stops and removes pods to match the list of all pods that this machine should have. */
  apply(desired: readonly DesiredPod[]): void {
    if (this.#closed) return;
    const wanted = new Map(desired.map((request) => [request.podId, request]));
    for (const pod of this.#pods.values()) pod.want(wanted.get(pod.id));
    for (const request of wanted.values()) {
      if (this.#pods.has(request.podId)) continue;
      if (isPlain(request.podId, request.disk)) this.#begin(new Pod(request, this.#parts));
      else
        this.#parts.logger.warn(
          { podId: request.podId, disk: request.disk },
          'a pod whose id cannot name a directory is ignored',
        );
    }
    this.#sweeping = this.#sweeping.then(() => this.#sweep(wanted));
  }

  /** Runs the due actions of all pods. Called often. */
  pass(): void {
    for (const pod of this.#pods.values()) pod.evaluate();
  }

  /** Ends all pods and waits for their end; their files stay. With `keepContainers`, pods in containers continue. */
  async stop({ keepContainers }: { keepContainers: boolean }): Promise<void> {
    this.#closed = true;
    const ending = [...this.#pods.values()].filter((pod) => !keepContainers || !pod.record);
    for (const pod of ending) pod.shutDown();
    await Promise.all([awaitEnds(ending, this.#parts), this.#sweeping]);
  }

  #begin(pod: Pod): void {
    this.#pods.set(pod.id, pod);
    pod.begin();
    void pod.done.then(() => {
      if (!this.#closed) this.#pods.delete(pod.id);
    });
  }

  /** Removes files that a previous agent left of pods that are no longer wanted. Never rejects. */
  async #sweep(wanted: ReadonlyMap<string, DesiredPod>): Promise<void> {
    const { files, archive, logger } = this.#parts;
    let podId: string | undefined;
    try {
      for (podId of await files.list()) {
        if (wanted.has(podId) || this.#pods.has(podId)) continue;
        await files.remove(podId);
        await archive.drop(podId);
      }
    } catch (error) {
      logger.warn({ err: error, podId }, 'files of removed pods were not deleted; the next list tries again');
    }
  }
}
