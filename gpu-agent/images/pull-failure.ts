/** What an engine's words about a failed pull mean for the image's owner, and whether it may pass. Pure. */

import type { ImageCredentials, PrepareFailure } from './prepare-error.ts';
import { PrepareError } from './prepare-error.ts';

interface Meaning {
  pattern: RegExp;
  failure: PrepareFailure;
  /** Another try may help. */
  mayPass: boolean;
  /** `login`: with which credentials; empty: none were named. */
  sentence(name: string, registry: string, login: string): string;
}

/** Most of an engine's words that are told, in characters. */
const WORDS_MAX = 300;
/** Longest part of a user name that is shown, in characters. */
const USERNAME_SHOWN_MAX = 64;

/** The first row that matches counts. Docker Hub answers `denied` for what does not exist, too. */
const MEANINGS: Meaning[] = [
  {
    pattern: /no space left|not enough space|disk quota exceeded|ENOSPC/i,
    failure: 'NO_SPACE',
    mayPass: false,
    sentence: (name) =>
      `the machine's disk has no room for ${name}, and no image there is unneeded: free some, or use a smaller image`,
  },
  {
    pattern:
      /no image found in (manifest list|image index)|no matching manifest|does not match the (specified|host) platform|image operating system/i,
    failure: 'WRONG_PLATFORM',
    mayPass: false,
    sentence: (name) =>
      `${name} was not built for this machine's kind of processor: build it for linux/amd64 or what the machine has`,
  },
  {
    pattern: /toomanyrequests|too many requests|status[^\d]{0,12}429|rate limit/i,
    failure: 'UNREACHABLE',
    mayPass: true,
    sentence: (name, registry) =>
      `${registry} takes no more pulls from here for now: log in by registry credentials, or wait; ${name} was not pulled`,
  },
  {
    pattern:
      /manifest unknown|name unknown|repository name not known|manifest for .* not found|repository .* not found|no such image|status[^\d]{0,12}404/i,
    failure: 'NOT_FOUND',
    mayPass: false,
    sentence: (name, registry) => `${registry} has no image ${name}: check its name and tag`,
  },
  {
    pattern: /denied|forbidden|status[^\d]{0,12}403/i,
    failure: 'NO_ACCESS',
    mayPass: false,
    sentence: (name, registry, login) =>
      login === ''
        ? noAccess(name, registry)
        : `${registry} gives ${login} no access to ${name}, or it does not exist: name registry credentials that may pull it`,
  },
  {
    pattern:
      /unauthorized|authentication required|invalid username\/password|no basic auth|incorrect username|status[^\d]{0,12}401/i,
    failure: 'NO_ACCESS',
    mayPass: false,
    sentence: (name, registry, login) =>
      login === ''
        ? noAccess(name, registry)
        : `${registry} refused ${login} for ${name}: correct their username and password, or name others`,
  },
  {
    pattern: /invalid reference|short-name|must be lowercase/i,
    failure: 'REFUSED',
    mayPass: false,
    sentence: (name) => `the container engine cannot read the name ${name}: write it like registry/path:tag`,
  },
  {
    pattern:
      /x509|server gave HTTP response|first record does not look like a TLS handshake|tls: (failed|bad|unknown|unrecognized)/i,
    failure: 'UNREACHABLE',
    mayPass: false,
    sentence: (name, registry) =>
      `the machine's container engine does not trust the TLS of ${registry}, so it cannot pull ${name}: ask its operator`,
  },
  {
    pattern: new RegExp(
      [
        'no such host',
        'connection refused',
        'connection reset',
        'timeout',
        'timed out',
        'deadline exceeded',
        'unreachable',
        'no route',
        'EOF',
        'temporary failure',
        'server misbehaving',
        'socket hang up',
        'ECONN',
        'EPIPE',
        'status[^\\d]{0,12}5\\d\\d',
        'internal server error',
        'unavailable',
        'bad gateway',
      ].join('|'),
      'i',
    ),
    failure: 'UNREACHABLE',
    mayPass: true,
    sentence: (name, registry) => `${registry} cannot be reached for ${name}`,
  },
];

/** A pull that failed, and what the engine said. */
export interface FailedPull {
  name: string;
  registry: string;
  words: string;
  /** With which it was tried. Absent: with none. */
  credentials?: ImageCredentials | undefined;
}

/**
 * Says it to the owner of the image. The engine's own words are part of it where they say more; they never hold
 * passwords.
 */
export function pullFailure({ name, registry, words, credentials }: FailedPull): {
  error: PrepareError;
  mayPass: boolean;
} {
  const meaning = MEANINGS.find(({ pattern }) => pattern.test(withoutName(withoutFrame(words), name)));
  if (!meaning)
    return { error: new PrepareError('REFUSED', `${name} could not be pulled: ${lastWords(words)}`), mayPass: false };
  const sentence = meaning.sentence(name, registry, credentials ? loginText(credentials) : '');
  const more = meaning.failure === 'UNREACHABLE' ? `: ${lastWords(words)}` : '';
  return { error: new PrepareError(meaning.failure, `${sentence}${more}`), mayPass: meaning.mayPass };
}

function noAccess(name: string, registry: string): string {
  return `${registry} gives no access to ${name}, or it does not exist: name registry credentials that may pull it`;
}

function loginText({ name = '', username }: ImageCredentials): string {
  return `the registry credentials ${name === '' ? '' : `${name} `}(user ${username.slice(0, USERNAME_SHOWN_MAX)})`;
}

/** A name such as `lab/denied:404` must not be taken for an answer. */
function withoutName(words: string, name: string): string {
  const [path = name] = name.split('@');
  const bare = path.slice(0, path.lastIndexOf(':') > path.lastIndexOf('/') ? path.lastIndexOf(':') : undefined);
  return words.replaceAll(name, '').replaceAll(bare, '');
}

/** The end of what an engine said: causes stand last. */
function lastWords(words: string): string {
  const line = withoutFrame(words);
  return line.length <= WORDS_MAX ? line : `… ${line.slice(line.indexOf(' ', line.length - WORDS_MAX) + 1)}`;
}

/** What the library puts in front of an engine's words. */
function withoutFrame(words: string): string {
  return words.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}
