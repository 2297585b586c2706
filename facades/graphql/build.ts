/**
 * Builds .mesh/ from .meshrc.yaml, the public schema and the contract, if any of them has changed since the last build.
 * The public schema consists of *.graphql and of the fields from the descriptions of resources. It is written to
 * .schema/.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withSettings } from './schema-parts.ts';

const folder = import.meta.dirname;
const root = join(folder, '../..');
const artifact = join(folder, '.mesh', 'index.mjs');
const stamp = join(folder, '.mesh', 'built-from');
const made = join(folder, '.schema');

/** Parts of the public schema, by file name. */
const parts = globSync('*/*.graphql', { cwd: folder })
  .sort()
  .map((file) => [basename(file), withSettings(readFileSync(join(folder, file), 'utf8'))] as const);

/** Everything that the artifacts are made from. */
function fingerprint(): string {
  const sources = ['.meshrc.yaml', 'core.proto', 'core-grpc/handler.ts', 'build.ts'].map((file) => join(folder, file));
  const contract = globSync('proto/slipway/v1/*.proto', { cwd: root })
    .sort()
    .map((file) => join(root, file));
  const hash = createHash('sha256').update(JSON.stringify(parts));
  for (const file of [...sources, ...contract, join(root, 'package-lock.json')]) hash.update(readFileSync(file));
  return hash.digest('hex');
}

const wanted = fingerprint();
if (!existsSync(artifact) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made);
  for (const [file, schema] of parts) writeFileSync(join(made, file), schema);
  const mesh = join(root, 'node_modules/@graphql-mesh/cli/cjs/bin.js');
  execFileSync(process.execPath, [mesh, 'build', '--dir', folder, '--fileType', 'js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  writeFileSync(stamp, wanted);
}
