/** Reads SLIPWAY_CONTAINER_ULIMITS: resource limits of a process in a container. */
import type { EnvReader } from '@slipway/kit/host/env';
import type { Ulimit } from '../executors/container/container-plan.ts';

/** Names of limits in setrlimit, without RLIMIT_ and in lower case. */
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
/**
 * Engines use different numbers for infinity. All of them accept this one, and no machine has that much of anything.
 */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/**
 * Parses `name=soft` or `name=soft:hard`, where each value may be `unlimited`. Returns `undefined` if the text has
 * neither form, an unknown name, or a soft limit above the hard one.
 */
export function parseUlimit(text: string): Ulimit | undefined {
  const form = /^([a-z]+)=(\d{1,15}|unlimited)(?::(\d{1,15}|unlimited))?$/;
  const [, name = '', soft = '', hard = soft] = form.exec(text) ?? [];
  const limit = { name, soft: valueOf(soft), hard: valueOf(hard) };
  return NAMES.has(name) && limit.soft <= limit.hard ? limit : undefined;
}

/** Reads the setting, and reports what is no limit. */
export function readUlimits(reader: EnvReader): Ulimit[] {
  return reader.list('SLIPWAY_CONTAINER_ULIMITS', []).flatMap((text) => {
    const limit = parseUlimit(text);
    if (limit) return [limit];
    reader.fault(
      `SLIPWAY_CONTAINER_ULIMITS has ${JSON.stringify(text)}, but each must be name=soft or name=soft:hard, ` +
        'for instance memlock=unlimited or nofile=65536:1048576',
    );
    return [];
  });
}

function valueOf(text: string): number {
  return text === 'unlimited' ? UNLIMITED : Number(text);
}
