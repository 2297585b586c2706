/**
 * Makes the webhook calls that outcomes have ordered: three tries, 10 s apart (docs/reference/api.md#webhooks). A call is taken by pushing its due instant
 * away, so that another replica makes it when this one dies. A call may be made twice; it is never forgotten.
 */
import { webhookIdentity, webhookSecretIdentity } from '../domain/sealed-identity.ts';
import { mayCallPrivate } from '../domain/webhook-url.ts';
import type { PrivateWebhooks } from '../domain/webhook-url.ts';
import type { EngineMeter } from '../jobs/engine-meter.ts';
import { LoopService } from '../runtime/loop-service.ts';
import type { SingletonTask } from '../runtime/loop.ts';
import type { Clock, Random, Timer } from '../runtime/clock.ts';
import { someAttempts } from '../runtime/logger.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sealer } from '../runtime/seal.ts';
import type { Tracing } from '../runtime/tracing.ts';
import { TaskGroup } from '../runtime/task-group.ts';
import type { Stores } from '../store/storage.ts';
import { persist } from '../store/transient.ts';
import type { AtLimit, Delivery } from '../store/webhook-store.ts';
import { AT_ONCE_MAX, TRY_MS_MAX, WebhookCaller } from './webhook-caller.ts';
import type { WebhookAuthorities } from './webhook-caller.ts';

export interface WebhookDelivererOptions {
  stores: Pick<Stores, 'webhooks'>;
  sealer: Sealer;
  /** Whose calls may go to private addresses. */
  allowPrivate: PrivateWebhooks;
  /** Authorities that count besides those that the machine trusts. Default: none. */
  authorities?: WebhookAuthorities | undefined;
  /** Default: it is this replica's. */
  task?: SingletonTask;
  /** Default: nobody counts. */
  meter?: EngineMeter;
  /** Default: nothing is traced. */
  tracing?: Tracing | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Tries of a call, and the pause between them in milliseconds (docs/reference/api.md#webhooks). */
export const TRIES_MAX = 3;
const PAUSE_MS = 10_000;
/** A replica that takes a call has this many milliseconds before another takes it. */
const HOLD_MS = TRY_MS_MAX + 10_000;
/**
 * Calls at once of one endpoint: a slow receiver must not hold up the others. An account may have as many as are still free, and as many bytes: alone that is
 * half of them, and for an account that has none there is always room.
 */
const AT_ONCE_PER_ENDPOINT_MAX = 16;
/** Bytes of bodies in memory at once; a larger body goes alone. */
const BYTES_AT_ONCE_MAX = 64 * 1024 * 1024;
/** When a call that found no room is looked at again, in milliseconds. */
const DEFER_MS = 500;
/** How often the owner of this duty looks for calls that nobody here ordered, in milliseconds. */
const PERIOD_MS = 2_000;
/** The calls that were taken wait no longer than this for the others to be put off, in milliseconds. */
const DEFER_PERSIST_MS = 2_000;

export class WebhookDeliverer extends LoopService {
  readonly #options: WebhookDelivererOptions;
  readonly #caller: WebhookCaller;
  readonly #tasks = new TaskGroup('webhook calls');
  /** Calls under way, by endpoint and by account. */
  readonly #ofEndpoint = new Map<string, number>();
  readonly #ofAccount = new Map<string, number>();
  readonly #bytesOfAccount = new Map<string, number>();
  #count = 0;
  /** Something happened here: calls may be due. */
  #wanted = true;
  #bytes = 0;
  #alarm: Timer | undefined;

  constructor(options: WebhookDelivererOptions) {
    const { clock, random, logger } = options;
    super({ name: 'webhook deliverer', periodMs: PERIOD_MS, clock, random, logger });
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
    await this.#caller.close();
  }

  /** Something may be due. */
  override wake(): void {
    this.#wanted = true;
    super.wake();
  }

  /** Takes the calls that are due and makes one try of each. Number of tries, once all have ended. */
  async runOnce(): Promise<number> {
    const deliveries = await this.#take();
    await Promise.all(deliveries.map((delivery) => this.#deliver(delivery)));
    return deliveries.length;
  }

  /** Calls that were ordered here are made here; whatever else there is, by the owner of the duty. */
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
      if (ms !== undefined && ms < PERIOD_MS * 2) this.#alarm = this.#options.clock.after(Math.max(1, ms + 1), () => this.wake());
    } catch (error) {
      this.#wanted ||= wanted;
      throw error;
    }
  }

  async #begin(): Promise<void> {
    if (this.#count >= AT_ONCE_MAX) return;
    for (const delivery of await this.#take()) {
      this.#tasks.own(this.#deliver(delivery).finally(() => this.wake()), (error) => {
        this.#options.logger.error({ err: error, ...webhookOf(delivery) }, 'the end of a webhook call was not recorded');
      });
    }
  }

  /** Undefined: none is due, or there is room for none; then the next that ends makes it look again. */
  async #nextDueMs(): Promise<number | undefined> {
    return this.#count < AT_ONCE_MAX ? this.#options.stores.webhooks.nextDueMs(this.#atLimit()) : undefined;
  }

  async #take(): Promise<Delivery[]> {
    const due = await this.#options.stores.webhooks.takeDue(AT_ONCE_MAX - this.#count, HOLD_MS, this.#atLimit());
    const taken: Delivery[] = [];
    const deferred: Delivery[] = [];
    for (const delivery of due) {
      if (this.#hasCapacity(delivery)) {
        this.#enter(delivery);
        taken.push(delivery);
      } else deferred.push(delivery);
    }
    if (deferred.length > 0) await this.#defer(deferred);
    return taken;
  }

  /** Never fails: the calls that were taken have begun and must be made. What cannot be put off is looked at when its hold ends. */
  async #defer(deferred: readonly Delivery[]): Promise<void> {
    const { stores, clock, random, logger } = this.#options;
    const { signal } = this.#tasks;
    await persist(() => stores.webhooks.defer(deferred, DEFER_MS), { clock, random, forMs: DEFER_PERSIST_MS, signal }).catch((error: unknown) => {
      logger.warn({ err: error, ...someAttempts(deferred) }, 'webhook calls without room will be looked at later');
    });
  }

  #hasCapacity({ endpointId, accountId, bodyBytes }: Delivery): boolean {
    if (this.#bytes > 0 && this.#bytes + bodyBytes > BYTES_AT_ONCE_MAX) return false;
    const ownBytes = this.#bytesOfAccount.get(accountId) ?? 0;
    if (ownBytes > 0 && ownBytes + bodyBytes > BYTES_AT_ONCE_MAX - this.#bytes) return false;
    return (this.#ofEndpoint.get(endpointId) ?? 0) < AT_ONCE_PER_ENDPOINT_MAX && (this.#ofAccount.get(accountId) ?? 0) < this.#free;
  }

  /** Calls that can be begun, and as many may one account have. */
  get #free(): number {
    return AT_ONCE_MAX - this.#count;
  }

  #enter({ endpointId, accountId, bodyBytes }: Delivery): void {
    count(this.#ofEndpoint, endpointId, 1);
    count(this.#ofAccount, accountId, 1);
    count(this.#bytesOfAccount, accountId, bodyBytes);
    this.#count += 1;
    this.#bytes += bodyBytes;
  }

  #end({ endpointId, accountId, bodyBytes }: Delivery): void {
    count(this.#ofEndpoint, endpointId, -1);
    count(this.#ofAccount, accountId, -1);
    count(this.#bytesOfAccount, accountId, -bodyBytes);
    this.#count -= 1;
    this.#bytes -= bodyBytes;
  }

  /** What waits for these stays untouched, so that however much it is, the calls of others are found at once. */
  #atLimit(): AtLimit {
    return { endpointIds: atLeast(this.#ofEndpoint, AT_ONCE_PER_ENDPOINT_MAX), accountIds: atLeast(this.#ofAccount, this.#free) };
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { clock, random, meter, tracing } = this.#options;
    const { endpointId, jobId, tries, traceparent } = delivery;
    const trace = tracing?.child('webhook', 'client', traceparent, { 'slipway.endpoint.id': endpointId, 'slipway.job.id': jobId, 'slipway.try': tries + 1 });
    const { signal } = this.#tasks;
    const startedAtMs = clock.monotonicMs();
    try {
      const url = this.#urlOf(delivery);
      const failure = url === undefined ? 'its sealed address does not open' : await this.#try(delivery, url);
      // Why is the receiver's and may name it: it stands in the record of the call.
      trace?.end(failure === undefined ? undefined : 'not taken');
      if (!signal.aborted) meter?.webhookTried(failure === undefined, clock.monotonicMs() - startedAtMs);
      // A call that was cut off by our own stop is due again at once for whoever comes next; it is not counted.
      const forMs = signal.aborted ? 0 : HOLD_MS;
      await persist(() => this.#record(delivery, url, failure, signal.aborted), { clock, random, forMs, signal });
    } finally {
      this.#end(delivery);
    }
  }

  #urlOf({ url, urlSealed, endpointId, jobId }: Delivery): string | undefined {
    try {
      return urlSealed === null ? url : this.#options.sealer.open(urlSealed, webhookIdentity(endpointId, jobId)).toString();
    } catch {
      return undefined;
    }
  }

  async #try(delivery: Delivery, url: string): Promise<string | undefined> {
    const { sealer, clock } = this.#options;
    const { endpointId, urlSealed, secretSealed, accountId, accountName } = delivery;
    // The endpoint may be gone, and with it whoever may have private addresses called.
    const account = accountId === '' ? undefined : { id: accountId, name: accountName };
    const allowPrivate = mayCallPrivate(this.#options.allowPrivate, account);
    try {
      const secret = secretSealed === null ? undefined : sealer.open(secretSealed, webhookSecretIdentity(endpointId)).toString();
      const stored = delivery.body ?? await this.#options.stores.webhooks.readBody(delivery);
      if (stored === undefined) return 'the call is no more';
      const body = urlSealed === null ? stored : withWebhook(stored, url);
      const call = { url, body, secret, id: webhookOf(delivery).webhookId, nowMs: clock.nowMs(), allowPrivate, owner: delivery.accountId };
      return await this.#caller.call(call, this.#tasks.signal);
    } catch (error) {
      // A secret that does not open or does not sign must not hold the call for ever.
      return error instanceof Error ? error.message : 'the call could not be made';
    }
  }

  async #record(delivery: Delivery, url: string | undefined, failure: string | undefined, stopped: boolean): Promise<void> {
    const { stores: { webhooks }, logger } = this.#options;
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
    logger.info({ ...ids, host, tries, reason: failure }, 'webhook failed, will be tried again');
    await webhooks.postpone(delivery, PAUSE_MS, failure);
  }
}

/** Which call it is, in the log; its receiver finds `webhookId` in a header (docs/reference/api.md#webhooks). */
function webhookOf({ endpointId, jobId, id }: Delivery) {
  return { endpointId, jobId, webhookId: `${jobId}.${id}` };
}

/** The record with its webhook, which is not stored in it. */
function withWebhook(body: Buffer, url: string): Buffer {
  return Buffer.concat([body.subarray(0, -1), Buffer.from(`,"webhook":${JSON.stringify(url)}}`)]);
}

function count(calls: Map<string, number>, id: string, change: number): void {
  const now = (calls.get(id) ?? 0) + change;
  if (now > 0) calls.set(id, now);
  else calls.delete(id);
}

function atLeast(calls: ReadonlyMap<string, number>, min: number): string[] {
  return [...calls].flatMap(([id, running]) => (running >= min ? [id] : []));
}
