/**
 * Watches the problems of accounts that have an address for alerts, and sends lasting ones and their ends. Problems
 * and messages are rows of one transaction, so a message may be sent twice after a crash and is never lost.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { PrivateWebhooks } from '../domain/jobs/webhook-url.ts';
import { mayCallPrivate } from '../domain/jobs/webhook-url.ts';
import type { AlertMailBody } from '../domain/reports/alert.ts';
import { alertMail, alertMessage, targetNotFound, testMail, testMessage } from '../domain/reports/alert.ts';
import type { Problem } from '../domain/reports/problem.ts';
import { alertUrlIdentity } from '../domain/settings/sealed-identity.ts';
import type { AlertCall, AlertTarget } from '../store/reports/alert-store.ts';
import { isTransient } from '../store/sql/transient.ts';
import type { Stores } from '../store/storage.ts';
import type { MailSender } from './mail-sender.ts';
import type { WebhookAuthorities } from './webhook-caller.ts';
import { TRY_MS_MAX, WebhookCaller } from './webhook-caller.ts';

interface AlertSenderOptions {
  stores: Pick<Stores, 'alerts' | 'accounts'>;
  /** Current problems of an account. Empty account: of all. */
  problems: { list(accountId: string): Promise<Problem[]> };
  sealer: Sealer;
  /** Accounts whose addresses may be private. */
  allowPrivate: PrivateWebhooks;
  /** Authorities trusted in addition to the machine's. Default: none. */
  authorities?: WebhookAuthorities | undefined;
  /** Sends e-mail. `undefined`: the installation has no mail server. */
  mail: Pick<MailSender, 'send'> | undefined;
  /** Default: this replica always runs the task. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Interval of comparisons of problems, in milliseconds. */
const PERIOD_MS = 15_000;
/** Problems of an account that are watched, the worst first. */
const PROBLEMS_MAX = 200;
/** Messages that are sent at once, and those of an account: an address that does not answer must not hold up others. */
const AT_ONCE_MAX = 16;
const ACCOUNT_AT_ONCE_MAX = 4;
/** Tries of a message, the pause after the first, and the longest one, in milliseconds. Each pause is twice as long. */
const TRIES_MAX = 8;
const PAUSE_MS = 30_000;
const PAUSE_MS_MAX = 3_600_000;

export class AlertSender extends LoopService {
  readonly #options: AlertSenderOptions;
  readonly #caller: WebhookCaller;
  readonly #stopping = new AbortController();

  constructor(options: AlertSenderOptions) {
    super({ ...options, name: 'alert sender', periodMs: PERIOD_MS });
    this.#options = options;
    this.#caller = new WebhookCaller(options.clock, options.authorities);
  }

  protected override async onStop(): Promise<void> {
    this.#stopping.abort();
    await super.onStop();
    this.#caller.close();
  }

  /** Compares the problems of all accounts once, and sends the messages that are due. */
  async runOnce(): Promise<void> {
    while (await this.pass());
  }

  /** Sends a test message. Returns why it was not taken. Throws NOT_FOUND. */
  async test(id: string, accountId: string): Promise<string | undefined> {
    const { alerts, accounts } = this.#options.stores;
    const target = await alerts.target(id, accountId);
    if (!target) throw targetNotFound(id);
    const name = accountId === '' ? '' : ((await accounts.get(accountId))?.name ?? '');
    const { kind } = target;
    // Tests are separate messages: none is dropped as a repeat.
    const callId = `test-${id}-${this.#options.clock.nowMs()}`;
    const message = kind === 'EMAIL' ? testMail(target.name) : testMessage(kind, target.name);
    const failure = await this.#send(target, name, message, callId);
    await alerts.recordResult(id, failure);
    return failure;
  }

  /** Records problems and sends messages. Costs one statement if no account has an address. */
  protected override async pass(): Promise<boolean> {
    const { stores } = this.#options;
    const accounts = await stores.alerts.accounts();
    if (accounts.length === 0) return false;
    for (const accountId of accounts) await this.#compare(accountId);
    await stores.alerts.reap();
    return this.#sendDue();
  }

  /** Records the problems of an account. A failure that no retry helps is its own: others get their alerts. */
  async #compare(accountId: string): Promise<void> {
    const { stores, problems, logger } = this.#options;
    try {
      const found = await problems.list(accountId);
      await stores.alerts.record(accountId, found.slice(0, PROBLEMS_MAX));
    } catch (error) {
      if (isTransient(error)) throw error;
      logger.warn({ err: error, accountId }, 'problems of an account were not recorded for its alerts, will try again');
    }
  }

  /** Sends the first due messages. Returns whether more may be due. */
  async #sendDue(): Promise<boolean> {
    const calls = await this.#options.stores.alerts.takeDue(AT_ONCE_MAX, ACCOUNT_AT_ONCE_MAX, TRY_MS_MAX * 2);
    await Promise.all(calls.map((call) => this.#deliver(call)));
    return calls.length > 0 && !this.#stopping.signal.aborted;
  }

  async #deliver(call: AlertCall): Promise<void> {
    const { stores, logger } = this.#options;
    const { target, news, tries } = call;
    const id = `${news.alert.id}.${news.ofEnd ? 'end' : 'begin'}`;
    const message = target.kind === 'EMAIL' ? alertMail(news) : alertMessage(target.kind, news);
    const failure = await this.#send(target, call.accountName, message, id);
    if (failure === undefined) return stores.alerts.end(call, undefined);
    const about = { targetId: target.id, alertId: news.alert.id, tries: tries + 1, reason: failure };
    if (tries + 1 >= TRIES_MAX) {
      logger.warn(about, 'alert given up');
      return stores.alerts.end(call, failure);
    }
    logger.info(about, 'alert not taken, will retry');
    await stores.alerts.postpone(call, Math.min(PAUSE_MS * 2 ** tries, PAUSE_MS_MAX), failure);
  }

  /** Sends a message. Returns why it was not taken. */
  async #send(
    { id, urlSealed, accountId }: Pick<AlertTarget, 'id' | 'urlSealed' | 'accountId'>,
    accountName: string,
    message: Buffer | AlertMailBody,
    callId: string,
  ): Promise<string | undefined> {
    const { sealer, allowPrivate, clock, mail } = this.#options;
    let url: string;
    try {
      url = sealer.open(urlSealed, alertUrlIdentity(id)).toString();
    } catch {
      return 'its encrypted address cannot be decrypted';
    }
    if (!Buffer.isBuffer(message))
      return mail ? mail.send(url, message, callId, this.#stopping.signal) : 'this installation sends no e-mail';
    const call = {
      ...{ url, body: message, id: callId, secret: undefined, owner: accountId, nowMs: clock.nowMs() },
      allowPrivate: accountId === '' || mayCallPrivate(allowPrivate, { id: accountId, name: accountName }),
    };
    return this.#caller.call(call, this.#stopping.signal);
  }
}
