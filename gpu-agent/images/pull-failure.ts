/**
 * Translates an engine's error about a failed pull into a message for the image's owner, and decides whether the
 * failure may pass. Pure.
 */

import type { ImageCredentials, PrepareFailure } from './prepare-error.ts';
import { PrepareError } from './prepare-error.ts';

interface Meaning {
  pattern: RegExp;
  failure: PrepareFailure;
  /** Another try may help. */
  mayPass: boolean;
  /** Returns the message. `login`: the credentials that were used; empty if none were named. */
  sentence(name: string, registry: string, login: string): string;
}

/** Most of an engine's message that is shown, in characters. */
const WORDS_MAX = 300;
/** Longest part of a user name that is shown, in characters. */
const USERNAME_SHOWN_MAX = 64;

/** The first matching row counts. Docker Hub answers `denied` for images that do not exist, too. */
const MEANINGS: Meaning[] = [
  {
    pattern: /no space left|not enough space|disk quota exceeded|ENOSPC/i,
    failure: 'NO_SPACE',
    mayPass: false,
    sentence: (name) =>
      `the machine's disk has no space for ${name}, and no image there is unused: free some, or use a smaller image`,
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
      `${registry} takes no more pulls from here for now: log in by registry credentials, or wait; ` +
      `${name} was not pulled`,
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
        : `${registry} gives ${login} no access to ${name}, or it does not exist: name registry ` +
          'credentials that may pull it',
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
      `the machine's container engine does not trust the TLS of ${registry}, so it cannot pull ${name}: ` +
      'ask its operator',
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

/** A failed pull and the engine's message. */
interface FailedPull {
  name: string;
  registry: string;
  words: string;
  /** Credentials that were used; absent if there were none. */
  credentials?: ImageCredentials | undefined;
}

/**
 * Returns the error for the image's owner. It includes the engine's message where that says more; such messages never
 * hold passwords.
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

/** Removes the image's name, so that a name such as `lab/denied:404` is not read as an answer. */
function withoutName(words: string, name: string): string {
  const [path = name] = name.split('@');
  const bare = path.slice(0, path.lastIndexOf(':') > path.lastIndexOf('/') ? path.lastIndexOf(':') : undefined);
  return words.replaceAll(name, '').replaceAll(bare, '');
}

/** Returns the end of an engine's message: causes stand last. */
function lastWords(words: string): string {
  const line = withoutFrame(words);
  return line.length <= WORDS_MAX ? line : `… ${line.slice(line.indexOf(' ', line.length - WORDS_MAX) + 1)}`;
}

/** Removes the prefix that the library puts in front of an engine's message. */
function withoutFrame(words: string): string {
  return words.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}
