/** Runs Schemathesis, the property-based tester of the REST description (see CONTRIBUTING.md). */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { requireDeclared } from '../declared.ts';

const root = join(import.meta.dirname, '../../..');
const program = process.env.SLIPWAY_TEST_SCHEMATHESIS ?? join(root, '.slipway-test/schemathesis/bin/schemathesis');

/** Options of a run. */
export interface SchemathesisOptions {
  /** Path of the OpenAPI document. Default: that of REST v1. */
  document?: string;
  /** Most requests per operation and phase in a test run. SLIPWAY_TEST_EXAMPLES asks for more. */
  examples: number;
  /** Paths to leave out. Default: none. */
  exclude?: string;
}

/** Checks that are left out: a valid body can name a template that does not exist. */
const CHECKS_LEFT_OUT = ['positive_data_acceptance'];

/** Returns false for tap's `skip` option if Schemathesis is installed, else one line that says what to install. */
export function skipWithoutSchemathesis(): false | string {
  requireDeclared('schemathesis');
  return existsSync(program) ? false : 'needs schemathesis: install python3 with venv, then run `npm run test:python`';
}

/** Runs Schemathesis over all operations of a service, always with the same requests. Returns exit code and output. */
export function runSchemathesis(
  url: string,
  key: string,
  folder: string,
  report: string,
  { document = '/v1/openapi.json', examples, exclude }: SchemathesisOptions,
): Promise<{ code: number; output: string }> {
  const args = [
    'run',
    `${url}${document}`,
    '--header',
    `Authorization: Bearer ${key}`,
    '--workers',
    '1',
    '--max-examples',
    process.env.SLIPWAY_TEST_EXAMPLES ?? String(examples),
    '--generation-deterministic',
    '--exclude-checks',
    CHECKS_LEFT_OUT.join(','),
    '--suppress-health-check',
    'all',
    '--no-color',
    ...(exclude === undefined ? [] : ['--exclude-path-regex', exclude]),
    '--report',
    'json',
    '--report-json-path',
    report,
  ];
  // Schemathesis writes into its working directory.
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
