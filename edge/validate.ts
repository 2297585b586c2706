/** Asks Envoy whether it accepts the configuration. Uses a temporary folder, so that a running edge is not touched. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GoodPair } from './certificates.ts';
import type { EdgeConfig } from './config.ts';
import { EdgeFault } from './edge-fault.ts';
import { checkFiles, writeEdgeFiles } from './edge-files.ts';
import { findFault } from './envoy-process.ts';
import { findEnvoy } from './find-envoy.ts';

/**
 * Returns the version of the Envoy that accepts the configuration, and the certificate that it would serve. Throws
 * EdgeFault or NoEnvoyError.
 */
export async function validate(config: EdgeConfig): Promise<{ version: string; pair: GoodPair | undefined }> {
  const { file, version } = await findEnvoy(config.envoy, config.searchPath);
  const pair = checkFiles(config);
  const dataDir = await mkdtemp(join(tmpdir(), 'slipway-edge-'));
  try {
    const fault = await findFault(file, writeEdgeFiles({ ...config, dataDir }, 0));
    if (fault !== undefined) throw new EdgeFault(`Envoy ${version} refuses the configuration:\n${fault}`);
    return { version, pair };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
