/**
 * Parts of documents that come from the code: whole pages, and parts between two marks. `npm run gen` writes them, and
 * a test compares them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PartName } from '@slipway/cli/install/unit';
import { PARTS, renderUnit } from '@slipway/cli/install/unit';
import { errorsPage } from './errors-page.ts';
import { jobStates } from './job-states.ts';
import { limitsPage } from './limits-page.ts';

const EXAMPLE_ARGS: Readonly<Record<PartName, readonly string[]>> = {
  core: ['--listen', '10.0.0.1:50051'],
  facade: ['--core', '10.0.0.1:50051', '--host', '10.0.0.1'],
  edge: [
    ...['--listen', '0.0.0.0:443', '--facades', '10.0.0.1:8080', '--core', '10.0.0.1:50051'],
    ...['--cert-file', '/etc/slipway/tls/fullchain.pem', '--cert-key-file', '/etc/slipway/tls/privkey.pem'],
  ],
  agent: ['--join', '10.0.0.1:50051'],
};

const root = join(import.meta.dirname, '../../..');

/** A document as it is and as the code wants it. */
export interface Generated {
  file: string;
  current: string;
  wanted: string;
}

function read(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return '';
  }
}

function page(file: string, wanted: string): Generated {
  return { file, current: read(file), wanted };
}

/** Replaces the lines between `<!-- NAME: generated -->` and `<!-- /NAME -->`. */
function part(file: string, name: string, text: string): Generated {
  const current = read(file);
  const [open, close] = [`<!-- ${name}: generated -->\n`, `\n<!-- /${name} -->`];
  const [from, to] = [current.indexOf(open), current.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`${file} has no part between ${open.trim()} and ${close.trim()}`);
  return { file, current, wanted: current.slice(0, from + open.length) + text + current.slice(to) };
}

/** Returns the unit of a part as `slipway install` writes it for an installation in /opt/slipway with all secrets. */
function exampleUnit(part: PartName): string {
  return renderUnit(part, {
    program: '/opt/slipway/node_modules/.bin/slipway',
    configDir: '/etc/slipway',
    args: EXAMPLE_ARGS[part],
    has: () => true,
  });
}

/** Returns everything that is generated. */
export function generated(): Generated[] {
  return [
    page('docs/reference/errors.md', errorsPage()),
    page('docs/reference/limits.md', limitsPage()),
    ...PARTS.map((part) => page(`deploy/systemd/slipway-${part}.service`, exampleUnit(part))),
    part('ARCHITECTURE.md', 'job states', jobStates()),
  ];
}

if (import.meta.main)
  for (const { file, current, wanted } of generated()) if (current !== wanted) writeFileSync(join(root, file), wanted);
