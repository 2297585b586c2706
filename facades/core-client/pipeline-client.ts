/**
 * Small, hot calls to core over one stream per core replica. Calls with an unknown outcome are sent again where that is
 * safe: every submission carries a request_id, so that a second one returns the first job.
 */

import { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { Loop } from '@slipway/kit/lifecycle/loop';
import { BaseService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { PipelineReply } from '@slipway/proto/gen/slipway/v1/job_service';
import { FACADE_CALLS_MAX } from '@slipway/proto/wire/limits';
import { CoreError, reasonFromName } from '@slipway/proto/wire/reason';
import type { LinkOwner } from './pipeline-link.ts';
import { PipelineLink } from './pipeline-link.ts';
import type { CallMessage, ReplyMessage } from './pipeline-ticket.ts';
import { PipelineTicket, unreachable } from './pipeline-ticket.ts';
import type { ReplicaParts } from './replica-parts.ts';
import { RETRY_BUDGET_MS } from './replica-parts.ts';
import { SubmissionAffinity } from './submission-affinity.ts';

/** Parts handed to the client. */
interface PipelineClientOptions extends ReplicaParts {
  logger: Logger;
}

/** A call whose caller may disconnect. */
export interface OpenCall<Reply> {
  answer: Promise<Reply>;
  /** Ends the wait. Core then answers with the current state. */
  abandon(): void;
}

/** Most bytes of calls that wait for a core. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;
/** Interval of checks of waits and retries, in milliseconds. */
const SWEEP_PERIOD_MS = 100;
/** The same while there have been no calls for a while. */
const SWEEP_REST_MS = 60_000;
const RETRY_PAUSE = { firstMs: 50, maxMs: 1_000 };

export class PipelineClient extends BaseService implements LinkOwner {
  readonly name = 'pipeline client';
  readonly #options: PipelineClientOptions;
  readonly #links: PipelineLink[];
  readonly #homes: SubmissionAffinity;
  readonly #sweep: Loop;
  readonly #activity: ActivityMonitor;
  #unsent: PipelineTicket[] = [];
  #unsentBytes = 0;
  #nextIndex = 0;
  #closing = false;

  constructor(options: PipelineClientOptions) {
    super();
    this.#options = options;
    const { addresses, clock, random, logger } = options;
    this.#links = addresses.map((address) => this.#newLink(address));
    options.onAddresses?.(() => this.#followAddresses());
    this.#homes = new SubmissionAffinity(this.#links, clock);
    this.#activity = new ActivityMonitor(clock);
    this.#activity.busyWhile(() => this.#calls() > 0);
    this.#sweep = new Loop({
      name: 'pipeline sweep',
      periodMs: SWEEP_PERIOD_MS,
      restMs: SWEEP_REST_MS,
      activity: this.#activity,
      pass: async () => this.#pass(),
      clock,
      random,
      logger,
    });
  }

  /**
   * Makes a call; unless it runs, the call fails with UNAVAILABLE. `waitMs`: how long core may hold it. `repeatable`:
   * see PipelineTicket.
   */
  open(apiKey: string, message: CallMessage, { waitMs = 0, repeatable = true } = {}): OpenCall<ReplyMessage> {
    this.#activity.mark();
    const ticket = new PipelineTicket({
      apiKey,
      message,
      waitMs,
      repeatable,
      nowMs: this.#options.clock.monotonicMs(),
    });
    if (!this.running || (this.#closing && ticket.waits)) ticket.reject(unreachable());
    else if (this.#calls() >= FACADE_CALLS_MAX || this.#unsentBytes > UNSENT_BYTES_MAX) {
      ticket.reject(new CoreError('RATE_LIMITED', 'Too many calls are in flight; try again shortly.'));
    } else this.#place(ticket);
    return { answer: ticket.answer, abandon: () => this.#abandon(ticket) };
  }

  /** Ends all waits early and starts no new ones, so that a stopping process can respond to its clients. */
  abandonAll(): void {
    this.#closing = true;
    for (const link of this.#links) for (const ticket of link.tickets()) this.#abandon(ticket);
    for (const ticket of this.#takeUnsent()) ticket.reject(unreachable());
  }

  linkUp(): void {
    this.#sendUnsent();
  }

  linkDown(_link: PipelineLink, lost: PipelineTicket[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const ticket of lost) {
      ticket.callId = 0;
      // A wait that was well until now gets the whole budget; its own end bounds it.
      if (ticket.waits) ticket.troubleSinceMs = nowMs;
      this.#again(ticket);
    }
  }

  answered(link: PipelineLink, ticket: PipelineTicket, answer: PipelineReply): void {
    const reply = answer.reply!;
    ticket.callId = 0;
    if (ticket.submitsTo !== undefined) this.#homes.recordReply(ticket.submitsTo, link, answer);
    if (reply.$case !== 'error') return ticket.resolve(reply);
    const reason = reasonFromName(reply.value.reason);
    if (reply.value.databaseAway) ticket.databaseAwayReplies += 1;
    if (reason === 'UNAVAILABLE' && ticket.databaseAwayReplies < this.#links.length) return this.#again(ticket);
    ticket.reject(new CoreError(reason, reply.value.message));
  }

  protected override onStart(): Promise<void> {
    this.#closing = false;
    return startAll([...this.#links, this.#sweep], this.#options.logger, this.ending);
  }

  protected override async onStop(): Promise<void> {
    await stopAll([...this.#links, this.#sweep], this.#options.logger);
    for (const ticket of this.#takeUnsent()) ticket.reject(unreachable());
  }

  #newLink(address: string): PipelineLink {
    const { tls, transport, clock, random, logger } = this.#options;
    return new PipelineLink({ address, tls, owner: this, transport, clock, random, logger });
  }

  /** Opens links to new replicas, and ends the ones to replicas that left: their calls are sent again. */
  #followAddresses(): void {
    const { addresses } = this.#options;
    for (const link of this.#links.filter(({ address }) => !addresses.includes(address))) {
      this.#links.splice(this.#links.indexOf(link), 1);
      void link.stop();
    }
    for (const address of addresses) {
      if (this.#links.some((link) => link.address === address)) continue;
      const link = this.#newLink(address);
      this.#links.push(link);
      // Its connection comes later; `linkUp` reports it.
      if (this.running) void link.start();
    }
  }

  /** Tries again after a short pause, or gives up. */
  #again(ticket: PipelineTicket): void {
    const nowMs = this.#options.clock.monotonicMs();
    ticket.troubleSinceMs ??= nowMs;
    const hopeless = !ticket.repeatable || ticket.abandoned || nowMs - ticket.troubleSinceMs > RETRY_BUDGET_MS;
    if (!this.running || hopeless) return ticket.reject(unreachable());
    ticket.notBeforeMs = nowMs + backoffMs(ticket.sends, RETRY_PAUSE, this.#options.random);
    this.#keep(ticket);
  }

  #place(ticket: PipelineTicket): void {
    const link = ticket.submitsTo === undefined ? this.#pick() : this.#homes.pick(ticket.submitsTo);
    if (link) return link.send(ticket);
    ticket.troubleSinceMs ??= this.#options.clock.monotonicMs();
    this.#keep(ticket);
  }

  #keep(ticket: PipelineTicket): void {
    this.#unsent.push(ticket);
    this.#unsentBytes += ticket.bytes;
  }

  /** Returns the next link that can take calls, round robin. */
  #pick(): PipelineLink | undefined {
    for (let i = 0; i < this.#links.length; i += 1) {
      this.#nextIndex = (this.#nextIndex + 1) % this.#links.length;
      const link = this.#links[this.#nextIndex];
      if (link?.isReady) return link;
    }
    return undefined;
  }

  #sendUnsent(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const ticket of this.#takeUnsent()) {
      if (ticket.settled) continue;
      const expired = ticket.troubleSinceMs !== undefined && nowMs - ticket.troubleSinceMs > RETRY_BUDGET_MS;
      if (expired || nowMs > ticket.giveUpAtMs) ticket.reject(unreachable());
      else if (nowMs < ticket.notBeforeMs) this.#keep(ticket);
      else this.#place(ticket);
    }
  }

  #takeUnsent(): PipelineTicket[] {
    const tickets = this.#unsent;
    this.#unsent = [];
    this.#unsentBytes = 0;
    return tickets;
  }

  #abandon(ticket: PipelineTicket): void {
    if (ticket.settled || !ticket.waits) return;
    ticket.abandoned = true;
    for (const link of this.#links) link.abandon(ticket);
  }

  #calls(): number {
    let calls = this.#unsent.length;
    for (const link of this.#links) calls += link.load;
    return calls;
  }

  async #pass(): Promise<void> {
    if (this.#unsent.length > 0) this.#sendUnsent();
    const nowMs = this.#options.clock.monotonicMs();
    for (const link of this.#links) {
      for (const ticket of link.tickets()) {
        // Only a call that was sent again can still be held by core when its own wait has ended.
        if (ticket.waits && ticket.sends > 1 && nowMs >= ticket.waitUntilMs) link.abandon(ticket);
        if (nowMs < ticket.giveUpAtMs) continue;
        link.abandon(ticket);
        link.forget(ticket);
        ticket.reject(unreachable(new Error('core did not answer in time')));
      }
    }
  }
}
