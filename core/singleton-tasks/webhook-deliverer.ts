/**
 * Delivers the webhook calls that outcomes have ordered: three tries, 10 s apart (docs/reference/api.md#webhooks). A
 * replica takes a call by moving its due time, so that another replica makes it if this one dies. A call may be made
 * twice; it is never lost.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { REST_MS } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock, Random, Timer } from '@slipway/kit/time/clock';
import type { PrivateWebhooks } from '../domain/jobs/webhook-url.ts';
import { mayCallPrivate } from '../domain/jobs/webhook-url.ts';
import { webhookIdentity, webhookSecretIdentity } from '../domain/settings/sealed-identity.ts';
import type { EngineMeter } from '../jobs/engine-meter.ts';
import { persist } from '../store/sql/transient.ts';
import type { Stores } from '../store/storage.ts';
import type { Delivery } from '../store/webhooks/webhook-store.ts';
import type { WebhookAuthorities } from './webhook-caller.ts';
import { TRY_MS_MAX, WebhookCaller } from './webhook-caller.ts';
import { WebhookCapacity } from './webhook-capacity.ts';

interface WebhookDelivererOptions {
  stores: Pick<Stores, 'webhooks'>;
  sealer: Sealer;
  /** Accounts whose calls may go to private addresses. */
  allowPrivate: PrivateWebhooks;
  /** Authorities trusted in addition to the machine's. Default: none. */
  authorities?: WebhookAuthorities | undefined;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  /** Default: not counted. */
  meter?: EngineMeter;
  /** Default: nothing is traced. */
  tracing?: Tracing | undefined;
  /** Default: it never rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Tries of a call, and the pause between them in milliseconds (docs/reference/api.md#webhooks). */
export const TRIES_MAX = 3;
const PAUSE_MS = 10_000;
/** Time in milliseconds that a replica has for a call before another takes it. */
const HOLD_MS = TRY_MS_MAX + 10_000;
/** Delay of a call that found no capacity, in milliseconds. */
const DEFER_MS = 500;
/**
 * Interval at which the holder of this task looks for calls that no outcome here ordered, in milliseconds. While
 * nothing happens: REST_MS.
 */
const PERIOD_MS = 2_000;
/** Taken calls wait at most this many milliseconds for the others to be deferred. */
const DEFER_PERSIST_MS = 2_000;

export class WebhookDeliverer extends LoopService {
  readonly #options: WebhookDelivererOptions;
  readonly #caller: WebhookCaller;
  readonly #tasks = new TaskGroup('webhook calls');
  readonly #capacity = new WebhookCapacity();
  /** True if calls may be due here. */
  #wanted = true;
  #alarm: Timer | undefined;

  constructor(options: WebhookDelivererOptions) {
    const { activity, clock, random, logger } = options;
    super({ name: 'webhook deliverer', periodMs: PERIOD_MS, restMs: REST_MS, activity, clock, random, logger });
    this.#options = options;
    this.#caller = new WebhookCaller(options.clock, options.authorities);
  }

  protected override async onStart(): Promise<void> {
    await this.#tasks.start();
    await super.onStart();
  }

  protected override async onStop(): Promise<void> {
    this.#alarm?.cancel();
    await super.onStop();
    this.#alarm?.cancel();
    await this.#tasks.stop();
    this.#caller.close();
  }

  /** Triggers a pass: calls may be due. */
  override wake(): void {
    this.#wanted = true;
    super.wake();
  }

  /** Takes the due calls and makes one try of each. Resolves with their number when all have ended. */
  async runOnce(): Promise<number> {
    const deliveries = await this.#take();
    await Promise.all(deliveries.map((delivery) => this.#deliver(delivery)));
    return deliveries.length;
  }

  /** Delivers calls ordered here; the holder of the task delivers all others. */
  protected override async pass(): Promise<void> {
    const wanted = this.#wanted;
    if (!wanted && this.#options.task?.mine === false) return;
    this.#wanted = false;
    try {
      let ms = wanted ? 0 : await this.#nextDueMs();
      if (ms !== undefined && ms <= 0) {
        await this.#begin();
        ms = await this.#nextDueMs();
      }
      this.#alarm?.cancel();
      if (ms !== undefined && ms < REST_MS * 2)
        this.#alarm = this.#options.clock.after(Math.max(1, ms + 1), () => this.wake());
    } catch (error) {
      this.#wanted ||= wanted;
      throw error;
    }
  }

  async #begin(): Promise<void> {
    if (this.#capacity.free <= 0) return;
    for (const delivery of await this.#take()) {
      this.#tasks.own(
        this.#deliver(delivery).finally(() => this.wake()),
        (error) => {
          this.#options.logger.error(
            { err: error, ...webhookOf(delivery) },
            'the end of a webhook call was not recorded',
          );
        },
      );
    }
  }

  /** Returns `undefined` if no call is due or there is no capacity; then the next call that ends triggers a pass. */
  async #nextDueMs(): Promise<number | undefined> {
    return this.#capacity.free > 0 ? this.#options.stores.webhooks.nextDueMs(this.#capacity.atLimit()) : undefined;
  }

  async #take(): Promise<Delivery[]> {
    const due = await this.#options.stores.webhooks.takeDue(this.#capacity.free, HOLD_MS, this.#capacity.atLimit());
    const taken: Delivery[] = [];
    const deferred: Delivery[] = [];
    for (const delivery of due) {
      if (this.#capacity.allows(delivery)) {
        this.#capacity.enter(delivery);
        taken.push(delivery);
      } else deferred.push(delivery);
    }
    if (deferred.length > 0) await this.#defer(deferred);
    return taken;
  }

  /**
   * Never fails: taken calls have begun and must be made. Calls that cannot be deferred are checked when their hold
   * ends.
   */
  async #defer(deferred: readonly Delivery[]): Promise<void> {
    const { stores, clock, random, logger } = this.#options;
    const { signal } = this.#tasks;
    await persist(() => stores.webhooks.defer(deferred, DEFER_MS), {
      clock,
      random,
      forMs: DEFER_PERSIST_MS,
      signal,
    }).catch((error: unknown) => {
      logger.warn({ err: error, ...someAttempts(deferred) }, 'webhook calls were not deferred, will retry');
    });
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { clock, random, meter, tracing } = this.#options;
    const { endpointId, jobId, tries, traceparent } = delivery;
    const trace = tracing?.child('webhook', 'client', traceparent, {
      'slipway.endpoint.id': endpointId,
      'slipway.job.id': jobId,
      'slipway.try': tries + 1,
    });
    const { signal } = this.#tasks;
    const startedAtMs = clock.monotonicMs();
    try {
      const url = this.#urlOf(delivery);
      const failure = url === undefined ? 'its encrypted address cannot be decrypted' : await this.#try(delivery, url);
      // The reason comes from the receiver and may name it: it is only in the record of the call.
      trace?.end(failure === undefined ? undefined : 'not taken');
      if (!signal.aborted) meter?.webhookTried(failure === undefined, clock.monotonicMs() - startedAtMs);
      // A call cut off by our own stop is due again at once and is not counted.
      const forMs = signal.aborted ? 0 : HOLD_MS;
      await persist(() => this.#record(delivery, url, failure, signal.aborted), { clock, random, forMs, signal });
    } finally {
      this.#capacity.leave(delivery);
    }
  }

  #urlOf({ url, urlSealed, endpointId, jobId }: Delivery): string | undefined {
    try {
      return urlSealed === null
        ? url
        : this.#options.sealer.open(urlSealed, webhookIdentity(endpointId, jobId)).toString();
    } catch {
      return undefined;
    }
  }

  async #try(delivery: Delivery, url: string): Promise<string | undefined> {
    const { sealer, clock } = this.#options;
    const { endpointId, urlSealed, secretSealed, accountId, accountName } = delivery;
    // The endpoint may be deleted, and with it the permission to call private addresses.
    const account = accountId === '' ? undefined : { id: accountId, name: accountName };
    const allowPrivate = mayCallPrivate(this.#options.allowPrivate, account);
    try {
      const secret =
        secretSealed === null ? undefined : sealer.open(secretSealed, webhookSecretIdentity(endpointId)).toString();
      const stored = delivery.body ?? (await this.#options.stores.webhooks.readBody(delivery));
      if (stored === undefined) return 'the call no longer exists';
      const body = urlSealed === null ? stored : withWebhook(stored, url);
      const call = {
        url,
        body,
        secret,
        id: webhookOf(delivery).webhookId,
        nowMs: clock.nowMs(),
        allowPrivate,
        owner: delivery.accountId,
      };
      return await this.#caller.call(call, this.#tasks.signal);
    } catch (error) {
      // A secret that does not decrypt or sign must not hold the call forever.
      return error instanceof Error ? error.message : 'the call could not be made';
    }
  }

  async #record(
    delivery: Delivery,
    url: string | undefined,
    failure: string | undefined,
    stopped: boolean,
  ): Promise<void> {
    const {
      stores: { webhooks },
      logger,
    } = this.#options;
    const ids = webhookOf(delivery);
    const tries = delivery.tries + 1;
    const host = url === undefined ? '' : new URL(url).host;
    if (failure === undefined) {
      logger.debug({ ...ids, host, tries }, 'webhook delivered');
      return await webhooks.end(delivery, undefined);
    }
    if (stopped) return await webhooks.postpone(delivery, 0, undefined);
    if (tries >= TRIES_MAX) {
      logger.warn({ ...ids, host, tries, reason: failure }, 'webhook given up');
      return await webhooks.end(delivery, failure);
    }
    logger.info({ ...ids, host, tries, reason: failure }, 'webhook failed, will retry');
    await webhooks.postpone(delivery, PAUSE_MS, failure);
  }
}

/** Returns the ids to log; the receiver finds `webhookId` in a header (docs/reference/api.md#webhooks). */
function webhookOf({ endpointId, jobId, id }: Delivery) {
  return { endpointId, jobId, webhookId: `${jobId}.${id}` };
}

/** Returns the job record with its webhook, which is not stored in it. */
function withWebhook(body: Buffer, url: string): Buffer {
  return Buffer.concat([body.subarray(0, -1), Buffer.from(`,"webhook":${JSON.stringify(url)}}`)]);
}
