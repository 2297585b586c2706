/** SLIPWAY_CONTAINER_ULIMITS: how many of something a process in a container may have at most. */
import type { Ulimit } from '../executors/container/container-plan.ts';

/** Names in setrlimit, without RLIMIT_ and in lower case. */
const NAMES: ReadonlySet<string> = new Set([
  'as',
  'core',
  'cpu',
  'data',
  'fsize',
  'locks',
  'memlock',
  'msgqueue',
  'nice',
  'nofile',
  'nproc',
  'rss',
  'rtprio',
  'rttime',
  'sigpending',
  'stack',
]);
/** Engines take different numbers for infinity. This one they all take, and no machine has as much of anything. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** Reads `name=soft` or `name=soft:hard`, where either may be `unlimited`. Returns `undefined` if it is neither. */
export function parseUlimit(text: string): Ulimit | undefined {
  const form = /^([a-z]+)=(\d{1,15}|unlimited)(?::(\d{1,15}|unlimited))?$/;
  const [, name = '', soft = '', hard = soft] = form.exec(text) ?? [];
  const limit = { name, soft: valueOf(soft), hard: valueOf(hard) };
  return NAMES.has(name) && limit.soft <= limit.hard ? limit : undefined;
}

function valueOf(text: string): number {
  return text === 'unlimited' ? UNLIMITED : Number(text);
}
