/**
 * Builds .mesh/ from .meshrc.yaml, the public schema and the contract, when any of them changed since the last time.
 * The public schema is what
 * *.graphql say, with the fields that the descriptions of resources give; it is made in .schema/.
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

/** The parts of the public schema, by the names of their files. */
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
