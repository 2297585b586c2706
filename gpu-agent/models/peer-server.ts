/**
 * Gives complete models to other machines of the fleet: read-only, each to clients with core's token for it, and
 * within a bound on the bandwidth.
 */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ByteBucket } from '@slipway/kit/bytes/byte-bucket';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { listenFault } from '@slipway/kit/net/listen-fault';
import { createServer } from '@slipway/kit/net/node-http';
import type { Clock } from '@slipway/kit/time/clock';
import { checkModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import type { ModelRecord } from './model-record.ts';
import type { ModelStore } from './model-store.ts';
import { parsePeerPath } from './peer-routes.ts';

/** Settings of the server. */
interface PeerServerOptions {
  /** host:port; port 0: any free one. Empty: other machines get nothing. */
  listen: string;
  /** Host by which other machines reach this one. Empty: the host of `listen`. */
  advertiseHost: string;
  /** Bytes a second that may leave, in total. */
  bytesPerSecond: number;
  store: ModelStore;
  clock: Clock;
  logger: Logger;
}

/** Most copies at once. Others find another machine, or the hub. */
const COPIES_MAX = 16;
const READ_BYTES = 256 * 1024;
/** Silence after which a connection is cut, in milliseconds. */
const SILENCE_MS = 60_000;
const SECOND_MS = 1_000;
const [OK, PARTIAL, UNAUTHORIZED, NOT_FOUND, NOT_SATISFIABLE, BUSY] = [200, 206, 401, 404, 416, 503];

export class ModelPeerServer extends BaseService {
  readonly name = 'model peers';
  readonly #options: PeerServerOptions;
  readonly #bucket: ByteBucket;
  #server: Server | undefined;
  #address = '';
  #key: Uint8Array = Buffer.alloc(0);
  #copies = 0;

  constructor(options: PeerServerOptions) {
    super();
    this.#options = options;
    this.#bucket = new ByteBucket(options.bytesPerSecond, options.clock);
  }

  /** host:port at which other machines get models; empty if nowhere. */
  get address(): string {
    return this.#address;
  }

  /** Sets the key with which core signs tokens for this machine. Without one, every request is rejected. */
  setKey(key: Uint8Array): void {
    this.#key = key;
  }

  protected override async onStart(): Promise<void> {
    const { listen, advertiseHost, logger } = this.#options;
    if (listen === '') return;
    const { hostname, port } = new URL(`http://${listen}`);
    const server = createServer((request, reply) => void this.#answer(request, reply));
    server.setTimeout(SILENCE_MS);
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(listenFault(error, listen)));
      server.listen(Number(port), hostname.replace(/^\[|\]$/g, ''), resolve);
    });
    this.#address = `${advertiseHost || hostname}:${(server.address() as AddressInfo).port}`;
    logger.info({ address: this.#address }, 'models are given to other machines');
  }

  protected override async onStop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server?.listening) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { url = '', method } = request;
    const asked = method === 'GET' ? parsePeerPath(url) : undefined;
    if (!asked) return end(reply, NOT_FOUND);
    const { store, clock, logger } = this.#options;
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const seconds = Math.floor(clock.nowMs() / SECOND_MS);
    if (this.#key.length === 0 || !checkModelPeerToken(this.#key, asked.key, token, seconds))
      return end(reply, UNAUTHORIZED);
    const record = store.find(asked.key);
    if (!record) return end(reply, NOT_FOUND);
    if (asked.digest === undefined)
      return void reply.writeHead(OK, { 'content-type': 'application/json' }).end(JSON.stringify(record));
    if (this.#copies >= COPIES_MAX) return end(reply, BUSY);
    this.#copies += 1;
    try {
      await this.#send(record, asked.digest, request, reply);
    } catch (error) {
      logger.debug({ err: error, repository: record.repository }, 'a copy of a model was cut');
      reply.destroy();
    } finally {
      this.#copies -= 1;
    }
  }

  /** Sends a content from the first byte of the range on. */
  async #send(record: ModelRecord, digest: string, request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const file = record.files.find((each) => each.digest === digest);
    if (!file) return end(reply, NOT_FOUND);
    const [, first] = /^bytes=(\d{1,15})-$/.exec(request.headers.range ?? '') ?? [];
    const from = Number(first ?? 0);
    if (from > file.sizeBytes) return end(reply, NOT_SATISFIABLE);
    const left = new AbortController();
    reply.once('close', () => left.abort());
    const handle = await open(this.#options.store.folderOf(record).blob(digest), 'r');
    try {
      reply.writeHead(first === undefined ? OK : PARTIAL, {
        'content-length': file.sizeBytes - from,
        ...(first !== undefined && { 'content-range': `bytes ${from}-${file.sizeBytes - 1}/${file.sizeBytes}` }),
      });
      const buffer = Buffer.alloc(READ_BYTES);
      for (let position = from; position < file.sizeBytes && !left.signal.aborted; ) {
        const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, position);
        if (bytesRead === 0) throw new Error('the file is shorter than its record says');
        await this.#bucket.take(bytesRead, left.signal);
        await write(reply, Buffer.from(buffer.subarray(0, bytesRead)), left.signal);
        position += bytesRead;
      }
      reply.end();
    } finally {
      await handle.close();
    }
  }
}

/** Writes a piece, and waits until the reader has taken it. */
async function write(reply: ServerResponse, piece: Buffer, left: AbortSignal): Promise<void> {
  if (!reply.write(piece) && !left.aborted) await once(reply, 'drain', { signal: left }).catch(() => undefined);
}

function end(reply: ServerResponse, status: number): void {
  reply.writeHead(status).end();
}
