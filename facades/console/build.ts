/**
 * Builds the console's page into .built/ with Vite when anything that it is made of has changed, and packs the files.
 * Run by npm after an installation.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { replaceFolder } from '@slipway/kit/host/replace-folder';

const folder = import.meta.dirname;
const built = join(folder, '.built');
const stamp = join(built, 'built-from');

/** Returns a hash of all files that the page is built from. */
function fingerprint(): string {
  const hash = createHash('sha256');
  const sources = globSync('web/**/*', { cwd: folder })
    .sort()
    .filter((file) => statSync(join(folder, file)).isFile());
  const others = ['../resources/templates/image-name.ts', '../../kit/bytes/exact-json.ts', '../../package-lock.json'];
  const files = [...sources, ...globSync('views*.ts', { cwd: folder }).sort(), 'build.ts', ...others];
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}

const wanted = fingerprint();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  // Built beside the old folder, which it then replaces as a whole: a facade that starts during this finds one or the
  // other.
  const part = `${built}.${process.pid}.part`;
  const { build } = await import('vite');
  await build({
    root: join(folder, 'web'),
    base: '/console/assets/',
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    build: {
      outDir: part,
      emptyOutDir: true,
      assetsDir: '',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
    },
  });
  for (const file of readdirSync(part))
    writeFileSync(join(part, `${file}.gz`), gzipSync(readFileSync(join(part, file)), { level: 9 }));
  writeFileSync(join(part, 'built-from'), wanted);
  replaceFolder(built, part);
}
