/**
 * The agent's side of its broker process (driver-broker.ts), which starts helper processes and nvidia-smi. A start
 * copies the page tables of the process that makes it: in the agent, ten at once would block its event loop for 100 ms.
 * The broker has little memory and nothing else to do.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE_ENVIRONMENT } from '@slipway/kit/host/node-settings';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import type { DriverQuery } from '../inventory/ask-driver.ts';
import type { BrokerListener, BrokerRequest, BrokerResponse } from './broker-protocol.ts';
import { lineOf } from './broker-protocol.ts';
import { BrokeredHelper } from './brokered-helper.ts';
import type { Helper } from './helper-requests.ts';
import { killGroup } from './kill-group.ts';

/** Time that nvidia-smi may take, in milliseconds. */
const QUERY_MS = 20_000;
/** Longest wait for the broker's response after that, in milliseconds. */
const RESPONSE_MS = 5_000;
/** Longest wait for the end of a helper that was killed, in milliseconds. */
const KILL_MS = 5_000;
/** Time without helpers and calls after which it ends, in milliseconds: this machine cannot move GPU memory. */
const IDLE_MS = 60_000;

export class Broker {
  readonly #env: Readonly<Record<string, string>>;
  readonly #clock: Clock;
  readonly #queryMs: number;
  /** `undefined` until it is needed, and after its end. */
  #child: ChildProcess | undefined;
  #isClosed = false;
  #last = 0;
  /** By number. */
  readonly #listeners = new Map<number, BrokerListener>();
  /** By number: responses that must come in time. A broker that does not give them is ended. */
  readonly #deadlines = new Map<number, Timer>();
  #idle: Timer | undefined;

  /**
   * Nothing runs before the first request. `env`: variables by which its programs find the driver. `queryMs`: time that
   * nvidia-smi may take, in milliseconds.
   */
  constructor(env: Readonly<Record<string, string>>, clock: Clock, queryMs = QUERY_MS) {
    this.#env = env;
    this.#clock = clock;
    this.#queryMs = queryMs;
  }

  /** Starts a helper process. */
  helper(): Helper {
    const of = (this.#last += 1);
    const helper = new BrokeredHelper({
      ask: (request) => this.#send({ of, do: 'ask', request }),
      kill: () => {
        this.#expect(of, KILL_MS);
        this.#send({ of, do: 'kill' });
      },
    });
    this.#listeners.set(of, helper);
    this.#send({ of, do: 'start', env: this.#env });
    return helper;
  }

  /** Runs nvidia-smi. Rejects as execFile does, or with an Error if the broker ends. */
  readonly ask: DriverQuery = (...args) => {
    const of = (this.#last += 1);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#listeners.set(of, {
      received: (response) => {
        if ('output' in response) resolve(response.output);
        else if ('failure' in response) reject(Object.assign(new Error(response.failure.message), response.failure));
      },
      gone: (why) => reject(new Error(`nvidia-smi was not run to its end: ${why}`)),
    });
    this.#expect(of, this.#queryMs + RESPONSE_MS);
    this.#send({ of, do: 'query', args, limitMs: this.#queryMs });
    return promise;
  };

  /** Ends the broker and all of its programs. */
  close(): void {
    this.#isClosed = true;
    this.#end('the agent stops');
    this.#idle?.cancel();
  }

  #end(why: string): void {
    const child = this.#child;
    this.#gone(child, why);
    child?.stdin?.end();
  }

  #send(request: BrokerRequest): void {
    this.#idle?.cancel();
    try {
      if (this.#isClosed) throw new Error('the agent stops');
      this.#child ??= this.#start();
      this.#child.stdin?.write(lineOf(request));
    } catch (error) {
      const listener = this.#listeners.get(request.of);
      this.#forget(request.of);
      listener?.gone((error as Error).message);
    }
  }

  #start(): ChildProcess {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'driver-broker.ts')], {
      cwd: '/',
      env: { ...NODE_ENVIRONMENT, ...this.#env } as NodeJS.ProcessEnv,
      stdio: ['pipe', 'pipe', 'ignore'],
      // Its process group ends with it: calls of nvidia-smi.
      detached: true,
    });
    child.on('error', (error) => this.#gone(child, error.message));
    child.on('exit', (code, signal) => this.#gone(child, `the broker process ended with ${signal ?? `code ${code}`}`));
    // There are no streams if the agent has no free file descriptor. The error event follows.
    child.stdin?.on('error', () => undefined);
    if (!child.stdout) return child;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (this.#child === child) this.#receive(JSON.parse(line) as BrokerResponse);
    });
    return child;
  }

  #receive(response: BrokerResponse): void {
    const listener = this.#listeners.get(response.of);
    // A helper responds again.
    if (!('response' in response)) this.#forget(response.of);
    listener?.received(response);
  }

  #expect(of: number, ms: number): void {
    const onLate = (): void => {
      const child = this.#child;
      killGroup(child?.pid);
      this.#gone(child, 'the broker process did not respond');
    };
    this.#deadlines.set(of, this.#clock.after(ms, onLate));
  }

  #forget(of: number): void {
    this.#listeners.delete(of);
    this.#deadlines.get(of)?.cancel();
    this.#deadlines.delete(of);
    if (this.#listeners.size > 0 || this.#isClosed) return;
    this.#idle?.cancel();
    this.#idle = this.#clock.after(IDLE_MS, () => this.#end('nothing needed it'));
  }

  /** Handles the end of the broker. The next request starts another one. */
  #gone(child: ChildProcess | undefined, why: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    const left = [...this.#listeners];
    for (const [of] of left) this.#forget(of);
    for (const [, listener] of left) listener.gone(why);
  }
}
