/** `npm run image -- NAME…`: builds images of the parts with Podman or Docker. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { IMAGES, makeContext } from './image-context.ts';
import { readManifest } from './stage-package.ts';

const root = join(import.meta.dirname, '../..');
const HELP = `npm run image -- NAME… [options]
Builds images: ${Object.keys(IMAGES).join(', ')}. "slipway" is all of it, as npm start.
  --prefix TEXT     names of the images are PREFIX-NAME:VERSION, "slipway" is PREFIX:VERSION; default localhost/slipway
  --base IMAGE      what they are built on, with Node 24; default docker.io/library/node:24-bookworm-slim
  --envoy IMAGE     image with /usr/local/bin/envoy, for the edge; default docker.io/envoyproxy/envoy:v1.40-latest
  --engine PROGRAM  podman or docker; default podman`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    prefix: { type: 'string', default: 'localhost/slipway' },
    base: { type: 'string' },
    envoy: { type: 'string' },
    engine: { type: 'string', default: 'podman' },
    help: { type: 'boolean', short: 'h' },
  },
});
const unknown = positionals.filter((name) => !(name in IMAGES));
if (values.help || positionals.length === 0 || unknown.length > 0) {
  process.stdout.write(`${unknown.length > 0 ? `There is no image ${unknown.join(', ')}.\n` : ''}${HELP}\n`);
  process.exit(values.help ? 0 : 2);
}
const { version } = readManifest(root);
const revision = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).stdout.trim() || 'unknown';
for (const image of positionals) {
  const context = mkdtempSync(join(tmpdir(), 'slipway-image-'));
  try {
    await makeContext(root, image, context);
    const tag = `${values.prefix}${image === 'slipway' ? '' : `-${image}`}:${version}`;
    const given = { BASE: values.base, ENVOY: image === 'edge' ? values.envoy : undefined };
    const args = Object.entries({ ...given, VERSION: version, REVISION: revision }).flatMap(([name, value]) =>
      value === undefined ? [] : ['--build-arg', `${name}=${value}`],
    );
    // A HEALTHCHECK is part of Docker's format only.
    const format = values.engine === 'podman' ? ['--format', 'docker'] : [];
    const file = join(root, 'deploy/images', image, 'Containerfile');
    execFileSync(values.engine, ['build', ...format, ...args, '-t', tag, '-f', file, context], {
      stdio: ['ignore', 2, 2],
    });
    process.stdout.write(`${tag}\n`);
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}
