/**
 * Publishes events to the other replicas and receives theirs. Everything is a hint: lost, merged and repeated notices
 * must be harmless. Notices are sent apart from the commits they report, many at a time, and only while another
 * replica listens.
 */

import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import { BaseService, startAll } from '@slipway/kit/lifecycle/service';
import { TaskGroup } from '@slipway/kit/lifecycle/task-group';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { NoticeChannel } from '../store/sql/notice-channel.ts';
import { NOTICE_BYTES_MAX } from '../store/sql/notice-channel.ts';
import type { Storage } from '../store/storage.ts';
import type { CoreEvents, ReplicatedEventMap } from './core-events.ts';
import type { SingletonTaskRegistry } from './singleton-task-registry.ts';

/**
 * Positions of queued jobs, published with their event so that other replicas scan as little of a queue as possible.
 */
interface QueuedPositions {
  /** Returns the lowest position queued here that was not published yet; 0 means scan from the start. */
  takeUnreported(endpointId: string): number;
  /** Records that another replica queued jobs, the first at `position`. */
  learnPosition(endpointId: string, position: number): void;
}

interface NotifierOptions {
  openChannel: Storage['openChannel'];
  events: CoreEvents;
  cursors: QueuedPositions;
  singletonTasks: SingletonTaskRegistry;
  /** True while other replicas run, whose events may get lost: then no loop rests. Default: no loop ever rests. */
  activity?: ActivityMonitor | undefined;
  clock: Clock;
  random: Random;
  logger: Logger;
}

type EventName = keyof ReplicatedEventMap;

/** The payload of a notice: its sender, and items by event. */
interface Notice {
  from: string;
  events: { [Name in EventName]?: ReplicatedEventMap[Name][number][] };
  /** Lowest new position of each endpoint in events.queued. */
  positions?: number[];
}

/** One item to publish; `json` is its part of a notice. */
interface Item {
  name: EventName;
  json: string;
}

const EVENT_NAMES: readonly EventName[] = [
  'settled',
  'chunks',
  'queued',
  'stop',
  'desired',
  'rotation',
  'keys',
  'endpoints',
  'batches',
];
/** Most items that may wait; further ones are dropped, as hints may be. */
const WAITING_MAX = 20_000;
/** Most notices in one statement. */
const NOTICES_AT_ONCE = 50;
/** Bytes of a notice's frame. */
const FRAME_BYTES = 300;
/** Longest item that is published, in bytes; the reason of a stop may be longer. */
const ITEM_BYTES_MAX = 2_000;

export class Notifier extends BaseService {
  readonly name = 'notifier';
  readonly #options: NotifierOptions;
  readonly #channel: NoticeChannel;
  readonly #tasks = new TaskGroup('notifier');
  readonly #id: string;
  readonly #waiting = new Map<string, Item>();
  #sending = false;

  constructor(options: NotifierOptions) {
    super();
    this.#options = options;
    this.#id = options.random.uuid();
    const { clock, random, logger, singletonTasks } = options;
    this.#channel = options.openChannel({
      onNotice: (payload) => this.#receive(payload),
      singletonTasks,
      clock,
      random,
      logger,
    });
    options.activity?.busyWhile(() => this.#channel.peers);
    singletonTasks.onResigned(() => this.#channel.recheck());
    for (const name of EVENT_NAMES) options.events.on(name, (items) => this.#publish(name, items));
  }

  protected override async onStart(): Promise<void> {
    await startAll([this.#tasks, this.#channel], this.#options.logger, this.ending);
    // Announce this replica: others publish nothing while they are alone.
    await this.#channel.send([`{"from":"${this.#id}","events":{}}`]).catch(() => {});
  }

  protected override async onStop(): Promise<void> {
    await this.#tasks.stop();
    await this.#channel.stop();
  }

  #publish(name: EventName, items: ReplicatedEventMap[EventName]): void {
    if (this.#options.events.relaying || !this.#channel.peers || this.#tasks.signal.aborted) return;
    for (const item of items) {
      if (this.#waiting.size >= WAITING_MAX) break;
      const json = JSON.stringify(item);
      if (json.length <= ITEM_BYTES_MAX) this.#waiting.set(`${name} ${json}`, { name, json });
    }
    if (this.#sending || this.#waiting.size === 0) return;
    this.#sending = true;
    this.#tasks.own(this.#send(), (error) => this.#options.logger.debug({ err: error }, 'notices were not sent'));
  }

  async #send(): Promise<void> {
    try {
      // After the current tick, so that related items share a notice.
      await new Promise<void>((resolve) => this.#options.clock.soon(resolve));
      while (this.#waiting.size > 0) await this.#channel.send(this.#takeNotices());
    } finally {
      this.#sending = false;
    }
  }

  #takeNotices(): string[] {
    const notices: string[] = [];
    while (this.#waiting.size > 0 && notices.length < NOTICES_AT_ONCE) notices.push(this.#takeNotice());
    return notices;
  }

  #takeNotice(): string {
    const parts = new Map<EventName, string[]>();
    const positions: number[] = [];
    let bytes = FRAME_BYTES;
    for (const [key, { name, json }] of this.#waiting) {
      bytes += Buffer.byteLength(json) + 24;
      if (bytes > NOTICE_BYTES_MAX) break;
      this.#waiting.delete(key);
      const part = parts.get(name);
      if (part) part.push(json);
      else parts.set(name, [json]);
      if (name === 'queued') positions.push(this.#options.cursors.takeUnreported(JSON.parse(json) as string));
    }
    const events = [...parts].map(([name, items]) => `"${name}":[${items.join(',')}]`).join(',');
    return `{"from":"${this.#id}","events":{${events}},"positions":[${positions.join(',')}]}`;
  }

  #receive(payload: string): void {
    const notice = this.#parse(payload);
    if (!notice || notice.from === this.#id) return;
    this.#channel.met();
    const { cursors, events } = this.#options;
    notice.events.queued?.forEach((endpointId, index) =>
      cursors.learnPosition(endpointId, notice.positions?.[index] ?? 0),
    );
    events.relaying = true;
    try {
      for (const name of EVENT_NAMES) {
        const items = notice.events[name];
        if (items) events.emit(name, items as never);
      }
    } finally {
      events.relaying = false;
    }
  }

  #parse(payload: string): Notice | undefined {
    try {
      return JSON.parse(payload) as Notice;
    } catch {
      this.#options.logger.warn('a notice is not readable; does another program use the channel?');
      return undefined;
    }
  }
}
