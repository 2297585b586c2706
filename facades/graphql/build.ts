/** Builds .mesh/ from .meshrc.yaml, the public schema and the contract, when any of them changed since the last time. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const root = join(folder, '../..');
const artifact = join(folder, '.mesh', 'index.mjs');
const stamp = join(folder, '.mesh', 'built-from');

/** Everything that the artifacts are made from. */
function fingerprint(): string {
  const schema = globSync('*/*.graphql', { cwd: folder }).sort();
  const sources = ['.meshrc.yaml', 'core.proto', 'core-grpc/handler.ts', 'build.ts', ...schema].map((file) => join(folder, file));
  const contract = globSync('proto/slipway/v1/*.proto', { cwd: root }).sort().map((file) => join(root, file));
  const hash = createHash('sha256');
  for (const file of [...sources, ...contract, join(root, 'package-lock.json')]) hash.update(readFileSync(file));
  return hash.digest('hex');
}

const wanted = fingerprint();
if (!existsSync(artifact) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const mesh = join(root, 'node_modules/@graphql-mesh/cli/cjs/bin.js');
  execFileSync(process.execPath, [mesh, 'build', '--dir', folder, '--fileType', 'js'], { stdio: ['ignore', 'pipe', 'inherit'] });
  writeFileSync(stamp, wanted);
}
