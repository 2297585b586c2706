/** Settings of the models that a machine keeps. Part of config.ts. */
import { join, resolve } from 'node:path';
import type { EnvReader } from '@slipway/kit/host/env';
import { metricsListenFault } from '@slipway/kit/net/metrics-server';

export interface ModelSettings {
  /** Folder of models of the Hugging Face hub. SLIPWAY_MODEL_DIR, default `<dataDir>/models`. */
  modelDir: string;
  /** Disk that they may take, in GB; 0: none. SLIPWAY_MODEL_DISK_GB, default `undefined`: half of the folder's disk. */
  modelDiskGb: number | undefined;
  /** host:port at which other machines copy models. SLIPWAY_MODEL_PEER_LISTEN, default empty: they get none. */
  modelPeerListen: string;
  /** Most that they copy in total, in MB a second. SLIPWAY_MODEL_PEER_MB_PER_SECOND, default 100. */
  modelPeerMbPerSecond: number;
}

/** Stands for a setting that is not given. */
const NOT_GIVEN = -1;

/** Reads the settings. `dataDir`: the agent's data folder. */
export function readModelSettings(reader: EnvReader, dataDir: string): ModelSettings {
  const gb = reader.integer('SLIPWAY_MODEL_DISK_GB', NOT_GIVEN, 0, 1_000_000);
  return {
    modelDir: resolve(reader.text('SLIPWAY_MODEL_DIR', join(dataDir, 'models'))),
    modelDiskGb: gb === NOT_GIVEN ? undefined : gb,
    modelPeerListen: reader.text('SLIPWAY_MODEL_PEER_LISTEN', ''),
    modelPeerMbPerSecond: reader.integer('SLIPWAY_MODEL_PEER_MB_PER_SECOND', 100, 1, 100_000),
  };
}

/** Returns why other machines could not copy models; `undefined` if they can, or are not meant to. */
export function peerListenFault({ modelPeerListen }: ModelSettings, advertiseHost: string): string | undefined {
  if (!/^(0\.0\.0\.0|\[::\]):/.test(modelPeerListen) || advertiseHost !== '')
    return metricsListenFault(modelPeerListen, 'SLIPWAY_MODEL_PEER_LISTEN');
  return 'SLIPWAY_MODEL_PEER_LISTEN is for all addresses: name this machine for the others in SLIPWAY_ADVERTISE_HOST';
}
