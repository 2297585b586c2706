/**
 * Traits of a worker's SDK, by its version. Implements the table of docs/reference/worker-protocol.md#sdk-versions. An
 * unknown SDK gets the cautious defaults.
 */

/** Traits that change how the agent treats a worker. */
export interface SdkTraits {
  /** Listens on job-stop, so that one job can be stopped alone. */
  stopChannel: boolean;
  /** Its take says how many slots are free. Older SDKs ask for more than they can run. */
  reportsFreeSlots: boolean;
  /** The list of held jobs in its pings, and job_in_progress, can be trusted. */
  listsJobs: boolean;
  /**
   * Starts a job that it takes while others run only when one of those ends, and counts it twice until then. Jobs that
   * arrive one by one would fill half of its slots.
   */
  startsLate: boolean;
  /** Sends a streamed value again if its response did not arrive. */
  sendsAgain: boolean;
  /** How long it may hold a job without any message about it before the job counts as lost, in milliseconds. */
  silenceMsMax: number;
}

const SILENCE_MS_MAX = 45_000;
/** Pings of these versions come from a thread that a busy C extension can delay. */
const SILENCE_THREAD_MS_MAX = 60_000;
/** Prefix of the JavaScript SDK of this repository. */
const OWN_SDK_PREFIX = 'slipway-';

type Version = [major: number, minor: number, patch: number];

/** The SDK of a worker, as far as its requests reported it. */
export class ReportedSdk {
  #version = '';
  #traits = sdkTraits('');

  /** Empty until the worker reported it. */
  get version(): string {
    return this.#version;
  }

  get traits(): SdkTraits {
    return this.#traits;
  }

  /** Records the version; returns true if it is new. */
  setVersion(version: string): boolean {
    if (version === '' || version === this.#version) return false;
    this.#version = version;
    this.#traits = sdkTraits(version);
    return true;
  }
}

/** Returns the traits of a version as the worker reported it: `1.12.0`, `slipway-0.1.0`, or empty. */
export function sdkTraits(version: string): SdkTraits {
  if (version.startsWith(OWN_SDK_PREFIX)) {
    // Its pings share a thread with the handler. A living process is proof enough.
    return {
      stopChannel: true,
      reportsFreeSlots: true,
      listsJobs: true,
      startsLate: false,
      sendsAgain: true,
      silenceMsMax: Number.POSITIVE_INFINITY,
    };
  }
  const parsed = parseVersion(version);
  if (!parsed) {
    return {
      stopChannel: false,
      reportsFreeSlots: false,
      listsJobs: false,
      startsLate: false,
      sendsAgain: false,
      silenceMsMax: SILENCE_MS_MAX,
    };
  }
  const pingsFromThread = !isAtLeast(parsed, [1, 7, 11]);
  return {
    stopChannel: isAtLeast(parsed, [1, 10, 0]),
    reportsFreeSlots: isAtLeast(parsed, [1, 7, 6]),
    listsJobs: pingsFromThread || isAtLeast(parsed, [1, 10, 1]),
    sendsAgain: false,
    startsLate: isAtLeast(parsed, [1, 7, 1]) && !isAtLeast(parsed, [1, 9, 1]),
    silenceMsMax: pingsFromThread ? SILENCE_THREAD_MS_MAX : SILENCE_MS_MAX,
  };
}

/**
 * Returns the version in a User-Agent header, or an empty text: `RunPod-Python-SDK/1.12.0 (…)`, `Slipway-Worker/0.1.0`.
 */
export function versionFromUserAgent(userAgent: string | undefined): string {
  const python = /RunPod-Python-SDK\/([0-9][0-9A-Za-z.]*)/.exec(userAgent ?? '');
  if (python) return python[1]!;
  const own = /Slipway-Worker\/([0-9][0-9A-Za-z.]*)/.exec(userAgent ?? '');
  return own ? OWN_SDK_PREFIX + own[1]! : '';
}

function parseVersion(text: string): Version | undefined {
  const match = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match ? [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)] : undefined;
}

function isAtLeast(version: Version, wanted: Version): boolean {
  for (let i = 0; i < 3; i += 1) {
    if (version[i] !== wanted[i]) return version[i]! > wanted[i]!;
  }
  return true;
}
