/** Runs grpcurl (see tools/test-runner/test-grpcurl.ts) with the server's reflection instead of .proto files. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { requireDeclared } from '../declared.ts';

const program = process.env.SLIPWAY_TEST_GRPCURL ?? join(import.meta.dirname, '../../../.slipway-test/grpcurl/grpcurl');
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Returns false for tap's `skip` option if grpcurl is there, else one line that says what to do. */
export function skipWithoutGrpcurl(): false | string {
  requireDeclared('grpcurl');
  return existsSync(program) ? false : 'needs grpcurl: run `npm run test:python` with the internet in reach';
}

/** Runs grpcurl, in plain text unless an option is about TLS. Returns its exit code and output. */
export function grpcurl(
  address: string,
  options: readonly string[],
  ...command: string[]
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const plain = options.includes('-cacert') ? [] : ['-plaintext'];
    execFile(
      program,
      [...plain, ...options, address, ...command],
      { maxBuffer: OUTPUT_BYTES_MAX },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
      },
    );
  });
}
