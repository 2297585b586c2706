/** Client of the Hugging Face hub, or of a mirror with its routes: what a revision holds, and the content of files. */

import { eachOf } from '@slipway/kit/lifecycle/each-of';
import type { Clock } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import type { FileSource, OpenFile } from './file-source.ts';
import { openBody } from './file-source.ts';
import type { HttpReply } from './http-get.ts';
import { ask, hostOf, leave, readText } from './http-get.ts';
import { HubError } from './hub-error.ts';
import type { HubListing, ListedFile } from './hub-listing.ts';
import { digestOfTag, parseListing } from './hub-listing.ts';
import { ModelError } from './model-error.ts';
import type { ModelFile } from './model-record.ts';
import { RECORD_BYTES_MAX } from './model-record.ts';

/** A revision with a digest for each of its files. */
interface HubRevision extends HubListing {
  files: ModelFile[];
}

/** Settings of a client. */
interface HubOptions {
  /** Base address, without a slash at its end. */
  address: string;
  /** Empty: none. */
  token: string;
  /** Milliseconds without a byte after which a connection is given up. */
  silenceMs: number;
  clock: Clock;
}

/** Time that a description of a revision may take, in milliseconds. */
const LISTING_MS_MAX = 60_000;
/** Requests for digests at once, where a mirror lists none. */
const HEADS_AT_ONCE = 8;
const OK = 200;

export class HubClient implements FileSource {
  readonly #options: HubOptions;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** The host, for people. */
  get name(): string {
    return hostOf(this.#options.address);
  }

  /** Describes a revision. Rejects with HubError, or ModelError if the description cannot be used. */
  async describe(repository: string, revision: string, signal: AbortSignal): Promise<HubRevision> {
    return within(this.#options.clock, LISTING_MS_MAX, signal, async (signal) => {
      const path = `/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
      const reply = await this.#ask(path, 'GET', 'all', signal);
      const listing = parseListing(await readText(reply, RECORD_BYTES_MAX));
      if (!listing)
        throw new ModelError(
          'UNREACHABLE',
          `${this.name} does not describe ${repository} as a hub does: check its address`,
        );
      const files = await eachOf(listing.files, HEADS_AT_ONCE, (file) =>
        this.#completed(repository, listing.commit, file, signal),
      );
      return { ...listing, files };
    });
  }

  async open(
    repository: string,
    commit: string,
    file: ModelFile,
    offset: number,
    signal: AbortSignal,
  ): Promise<OpenFile> {
    const { address, token, silenceMs } = this.#options;
    const url = `${address}${pathOf(repository, commit, file.path)}`;
    return openBody(await ask({ url, token, offset, follow: 'all', silenceMs, signal }), this.name, offset);
  }

  /** Asks for size and digest of a file that was listed without them. */
  async #completed(repository: string, commit: string, file: ListedFile, signal: AbortSignal): Promise<ModelFile> {
    const { path } = file;
    if (file.digest !== undefined && file.sizeBytes !== undefined)
      return { path, digest: file.digest, sizeBytes: file.sizeBytes };
    const { headers, body } = await this.#ask(pathOf(repository, commit, path), 'HEAD', 'own', signal);
    body.resume();
    const digest = digestOfTag(headers['x-linked-etag']) ?? digestOfTag(headers.etag);
    const size = Number(headers['x-linked-size'] ?? headers['content-length'] ?? Number.NaN);
    if (digest === undefined || !Number.isSafeInteger(size))
      throw new ModelError(
        'UNREACHABLE',
        `${this.name} gives no digest of ${path} in ${repository}, so it cannot be verified`,
      );
    return { path, digest, sizeBytes: size };
  }

  /** Sends a request. Rejects with HubError unless it succeeds or, with `own`, is redirected to another host. */
  async #ask(path: string, method: 'GET' | 'HEAD', follow: 'all' | 'own', signal: AbortSignal): Promise<HttpReply> {
    const { address, token, silenceMs } = this.#options;
    const reply = await ask({ url: `${address}${path}`, method, token, follow, silenceMs, signal });
    if (reply.status === OK || (follow === 'own' && reply.headers.location !== undefined)) return reply;
    leave(reply.body);
    throw new HubError(this.name, reply.status, reply.headers);
  }
}

/** Returns the path of a file at a commit. */
function pathOf(repository: string, commit: string, path: string): string {
  return `/${repository}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`;
}
