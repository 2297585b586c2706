/**
 * Serves the page and its files as build.ts left them: read once, sent compressed. Paths without a file are routes
 * inside the page.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const FOLDER = join(import.meta.dirname, '.built');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Nothing from anywhere else, nothing written into the page, and no other page may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');
const YEAR_SECONDS = 31_536_000;

interface Asset {
  plain: Buffer;
  packed: Buffer;
  type: string;
}

/** Adds /console and the paths under it. */
export function assetRoutes(app: FastifyInstance): void {
  const assets = readAssets();
  app.addHook('onSend', async (_request, reply) => {
    reply
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .header('content-security-policy', POLICY)
      .header('cross-origin-opener-policy', 'same-origin');
  });
  app.get('/console/assets/:file', async (request, reply) => {
    const asset = assets.get((request.params as { file: string }).file);
    if (!asset) throw new CoreError('NOT_FOUND', 'There is no such file; load the page again.');
    // The file's name contains a hash of its content.
    return send(request, reply.header('cache-control', `public, max-age=${YEAR_SECONDS}, immutable`), asset);
  });
  const page = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const asset = assets.get('index.html');
    if (!asset)
      throw new CoreError('NOT_FOUND', 'The console is not built on this machine: run "npm run prepare" there.');
    return send(request, reply.header('cache-control', 'no-cache'), asset);
  };
  for (const path of [
    '/console',
    '/console/:kind',
    '/console/:kind/:id',
    '/console/:kind/:id/:part',
    '/console/:kind/:id/:part/:more',
  ])
    app.get(path, page);
}

function send(request: FastifyRequest, reply: FastifyReply, { plain, packed, type }: Asset): FastifyReply {
  reply.header('content-type', type).header('vary', 'accept-encoding');
  const takesPacked = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  return takesPacked ? reply.header('content-encoding', 'gzip').send(packed) : reply.send(plain);
}

function readAssets(): Map<string, Asset> {
  const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((file) => extname(file) in TYPES) : [];
  return new Map(
    files.map((file) => {
      const path = join(FOLDER, file);
      return [file, { plain: readFileSync(path), packed: readFileSync(`${path}.gz`), type: TYPES[extname(file)]! }];
    }),
  );
}
