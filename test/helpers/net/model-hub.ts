/**
 * A server with the routes of the Hugging Face hub, and one for the content of large files on another origin, as the
 * hub has. Counts what it sends, and fails on request.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A repository: files by path. Those in `large` are in LFS. */
export interface HubRepository {
  files: Record<string, string | Buffer>;
  large?: string[];
  /**
   * Token that requests for its files need. `hidden`: without the token they get the answer for a missing repository.
   */
  token?: string;
  hidden?: boolean;
}

/** Fault of the next responses with content. */
export interface HubFault {
  /** Cuts the connection after so many bytes of a file. */
  cutAfter?: number;
  /** Sends nothing after so many bytes, and keeps the connection. */
  silentAfter?: number;
  /** Sends a byte now and then after so many bytes, for ever. */
  trickleAfter?: number;
  /** Answers with this status; `retryAfter` in seconds. */
  status?: number;
  retryAfter?: number;
  /** Changes the content. */
  corrupt?: boolean;
  /** Sends more than there is. */
  longer?: boolean;
  /** Of this path only. */
  path?: string;
  /** How many responses. Default: all. */
  times?: number;
}

/** Time between two bytes that trickle, in milliseconds. */
const TRICKLE_MS = 10;

interface Blob {
  path: string;
  bytes: Buffer;
  isLarge: boolean;
  /** Entity tag: sha256 for files in LFS, Git's hash of the blob for others. */
  digest: string;
}

const hash = (algorithm: string, ...parts: (string | Buffer)[]): string => {
  const made = createHash(algorithm);
  for (const part of parts) made.update(part);
  return made.digest('hex');
};

/** Starts a hub on the loopback address. */
export async function startModelHub(t: { teardown(fn: () => unknown): void }) {
  const commits = new Map<string, { repository: string; blobs: Blob[]; of: HubRepository }>();
  const branches = new Map<string, string>();
  const requests: { method: string; url: string; host: string; token: string; range: string }[] = [];
  const faults: HubFault[] = [];
  let [sentBytes, isAway] = [0, false];

  /** Adds a commit to a branch. Returns it. */
  const push = (repository: string, of: HubRepository, branch = 'main'): string => {
    const blobs = Object.entries(of.files).map(([path, content]): Blob => {
      const bytes = Buffer.from(content);
      const isLarge = of.large?.includes(path) ?? false;
      const digest = isLarge ? hash('sha256', bytes) : hash('sha1', `blob ${bytes.length}\0`, bytes);
      return { path, bytes, isLarge, digest };
    });
    const commit = hash('sha1', repository, JSON.stringify(blobs.map(({ path, digest }) => [path, digest])));
    commits.set(`${repository}@${commit}`, { repository, blobs, of });
    branches.set(`${repository}@${branch}`, commit);
    return commit;
  };

  const commitOf = (repository: string, revision: string): string =>
    branches.get(`${repository}@${revision}`) ?? revision;

  const faultOf = (path: string): HubFault | undefined => {
    const fault = faults.find((each) => each.path === undefined || each.path === path);
    if (!fault) return undefined;
    fault.times = (fault.times ?? Infinity) - 1;
    if (fault.times <= 0) faults.splice(faults.indexOf(fault), 1);
    return fault;
  };

  const send = (request: IncomingMessage, reply: ServerResponse, { path, bytes, digest }: Blob): void => {
    const fault = request.method === 'GET' ? faultOf(path) : undefined;
    if (fault?.status !== undefined) {
      if (fault.retryAfter !== undefined) reply.setHeader('retry-after', fault.retryAfter);
      return void reply.writeHead(fault.status).end();
    }
    const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const from = Number(first ?? 0);
    const wrong = fault?.longer ? Buffer.concat([bytes, bytes]) : Buffer.alloc(bytes.length, 'x');
    const content = fault?.corrupt || fault?.longer ? wrong : bytes;
    reply.writeHead(first === undefined ? 200 : 206, {
      etag: `"${digest}"`,
      'accept-ranges': 'bytes',
      'content-length': content.length - from,
      ...(first !== undefined && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (request.method === 'HEAD') return void reply.end();
    const stopsAfter = fault?.cutAfter ?? fault?.silentAfter ?? fault?.trickleAfter;
    const piece = content.subarray(from, stopsAfter === undefined ? undefined : from + stopsAfter);
    sentBytes += piece.length;
    if (stopsAfter === undefined) return void reply.end(piece);
    reply.write(piece, () => fault?.cutAfter !== undefined && setTimeout(() => reply.destroy(), 20));
    if (fault?.trickleAfter === undefined) return;
    let at = from + stopsAfter;
    const timer = setInterval(() => {
      sentBytes += 1;
      reply.write(content.subarray(at, at + 1));
      at += 1;
    }, TRICKLE_MS);
    reply.once('close', () => clearInterval(timer));
  };

  /** Answers requests for the content of large files, on an origin of its own. */
  const contents = createServer((request, reply) => {
    note(request);
    const url = new URL(request.url!, 'http://x');
    const found = [...commits.values()]
      .flatMap(({ blobs }) => blobs)
      .find((blob) => blob.digest === url.pathname.slice(1));
    if (isAway) return void request.socket.destroy();
    if (!found) return void reply.writeHead(404).end();
    send(request, reply, found);
  });

  const note = ({ method = '', url = '', headers }: IncomingMessage): void => {
    const token = (headers.authorization ?? '').replace('Bearer ', '');
    requests.push({ method, url, host: headers.host ?? '', token, range: headers.range ?? '' });
  };

  const answerFile = (
    request: IncomingMessage,
    reply: ServerResponse,
    [repository, revision, path]: string[],
  ): void => {
    const commit = commitOf(repository!, decodeURIComponent(revision!));
    const found = commits.get(`${repository}@${commit}`);
    const blob = found?.blobs.find((each) => each.path === decodeURIComponent(path!));
    if (!found || !blob) return void reply.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
    if (found.of.token !== undefined && request.headers.authorization !== `Bearer ${found.of.token}`)
      return void reply
        .writeHead(401, { 'x-error-code': 'GatedRepo', 'x-error-message': 'Access is restricted.' })
        .end();
    reply.setHeader('x-repo-commit', commit);
    if (!blob.isLarge) return send(request, reply, blob);
    reply.setHeader('x-linked-etag', `"${blob.digest}"`);
    reply.setHeader('x-linked-size', blob.bytes.length);
    reply.writeHead(302, { location: `http://127.0.0.1:${portOf(contents)}/${blob.digest}` }).end();
  };

  const answerInfo = (
    request: IncomingMessage,
    reply: ServerResponse,
    [repository, kind, revision]: string[],
    hasBlobs: boolean,
  ): void => {
    const commit = commitOf(repository!, decodeURIComponent(revision ?? 'main'));
    const found = commits.get(`${repository}@${commit}`);
    const isHidden = found?.of.hidden && request.headers.authorization !== `Bearer ${found.of.token}`;
    if (!found || isHidden)
      return void reply.writeHead(isHidden ? 401 : 404, { 'x-error-code': 'RepoNotFound' }).end('{}');
    const lfsOf = ({ digest, bytes }: Blob): object => ({
      oid: digest,
      sha256: digest,
      size: bytes.length,
      pointerSize: 130,
    });
    const oidOf = ({ isLarge, digest }: Blob): string => (isLarge ? hash('sha1', digest) : digest);
    const siblings = found.blobs.map((blob) => ({
      rfilename: blob.path,
      ...(hasBlobs && { size: blob.bytes.length, blobId: oidOf(blob), ...(blob.isLarge && { lfs: lfsOf(blob) }) }),
    }));
    const tree = found.blobs.map((blob) => ({
      type: 'file',
      path: blob.path,
      size: blob.bytes.length,
      oid: oidOf(blob),
      ...(blob.isLarge && { lfs: lfsOf(blob) }),
    }));
    const gated = found.of.token !== undefined && !found.of.hidden ? 'auto' : false;
    const info = {
      id: repository,
      modelId: repository,
      sha: commit,
      private: !!found.of.hidden,
      gated,
      tags: [],
      siblings,
    };
    reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(kind === 'tree' ? tree : info));
  };

  const hub = createServer((request, reply) => {
    note(request);
    if (isAway) return void request.socket.destroy();
    const { pathname, searchParams } = new URL(request.url!, 'http://x');
    const file = /^\/([\w.-]+\/[\w.-]+)\/resolve\/([^/]+)\/(.+)$/.exec(pathname);
    if (file) return answerFile(request, reply, file.slice(1));
    const info = /^\/api\/models\/([\w.-]+\/[\w.-]+)(?:\/(revision|tree)\/([^/]+))?$/.exec(pathname);
    const fault = faults.find((each) => each.path === 'api');
    if (info && fault?.status !== undefined) return void reply.writeHead(fault.status).end('{}');
    if (info) return answerInfo(request, reply, info.slice(1), searchParams.get('blobs') === 'true');
    reply.writeHead(404).end('{}');
  });

  for (const server of [hub, contents]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  return {
    address: `http://127.0.0.1:${portOf(hub)}`,
    push,
    requests,
    /** Makes responses fail from now on. */
    fail: (fault: HubFault): number => faults.push({ ...fault }),
    /** Ends all faults. */
    heal: (): unknown => faults.splice(0),
    /** Cuts the connections that are open now. */
    cut: (): void => {
      for (const server of [hub, contents]) server.closeAllConnections();
    },
    /** Cuts every connection from now on, or no longer. */
    setAway: (value: boolean): void => {
      isAway = value;
    },
    /** Bytes of files that were sent. */
    get sentBytes(): number {
      return sentBytes;
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
