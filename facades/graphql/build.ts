/**
 * Builds .mesh/index.mjs from the contract and the public schema, if any of them has changed since the last build. A
 * facade then needs neither .proto files nor a parser of them. GraphQL Mesh's own builder brings 180
 * packages and also writes types and a client, which nothing here uses.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { coreSchema } from './core-grpc/core-schema.ts';
import { withSettings } from './schema-parts.ts';

const folder = import.meta.dirname;
const root = join(folder, '../..');
const contract = join(root, 'proto');
const built = join(folder, '.mesh');
const artifact = join(built, 'index.mjs');
const stamp = join(built, 'built-from');

/** The public schema: *.graphql, and the fields from the descriptions of resources. */
const publicSchema = globSync('*/*.graphql', { cwd: folder })
  .sort()
  .map((file) => withSettings(readFileSync(join(folder, file), 'utf8')))
  .join('\n');

/** Returns a hash of everything that the artifact is made from. */
function fingerprint(): string {
  const own = ['core.proto', 'build.ts', 'core-grpc/core-schema.ts'].map((file) => join(folder, file));
  const shared = globSync('slipway/v1/*.proto', { cwd: contract })
    .sort()
    .map((file) => join(contract, file));
  const hash = createHash('sha256').update(publicSchema);
  for (const file of [...own, ...shared, join(root, 'package-lock.json')]) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/** Returns the messages and services that core.proto names, with names of fields as in JSON and without comments. */
async function readContract(): Promise<protobuf.INamespace> {
  const found = new protobuf.Root();
  found.resolvePath = (_origin, target) =>
    [folder, contract].map((home) => join(home, target)).find((file) => existsSync(file)) ?? target;
  await found.load('core.proto', { keepCase: false });
  return found.resolveAll().toJSON();
}

/** Replaces a file as a whole: another build or a starting facade finds the old or the new one. */
function replaceFile(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, text);
  renameSync(part, file);
}

const wanted = fingerprint();
if (!existsSync(artifact) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const texts = { coreSchema: coreSchema(await readContract()), publicSchema };
  const lines = Object.entries(texts).map(([name, text]) => `export const ${name} = ${JSON.stringify(text)};\n`);
  mkdirSync(built, { recursive: true });
  replaceFile(artifact, lines.join(''));
  replaceFile(stamp, wanted);
}
