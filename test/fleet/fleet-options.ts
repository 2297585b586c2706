/** What a simulated fleet is made of. */

import { ScalerType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type postgres from 'postgres';
import type { GrpcClients } from '../helpers/grpc/grpc-clients.ts';
import type { FleetLengths } from './lengths.ts';

/** A running core. */
export interface FleetCore {
  /** Returns the current addresses of its replicas. */
  addresses(): readonly string[];
  clients: GrpcClients;
  rootKey: string;
  sql: postgres.Sql;
}

/** Size of the fleet. */
export interface FleetOptions {
  seed: number;
  machines: number;
  endpoints: number;
  /** Maximum number of workers in total. */
  workers: number;
  accounts: number;
  /** Default: hundredths of real ones. */
  lengths?: FleetLengths;
}

/** An endpoint with an API key for it. */
export interface FleetEndpoint {
  id: string;
  workersMax: number;
  accountId: string;
  key: string;
  /** GPU types of which its workers need one. Empty for none. */
  gpuIds: readonly string[];
  /** Its workers need an image, which a machine may have to pull. */
  image: boolean;
}

/** Owners of endpoints, and what they run. */
export interface FleetAccount {
  accountId: string;
  key: string;
  templateId: string;
  image: boolean;
}

/** A machine has GPUs of one type only; some have none. */
export const KINDS = ['NVIDIA L4', 'NVIDIA A40', 'NVIDIA H100 80GB HBM3', 'NVIDIA GeForce RTX 4090'];
/**
 * Scaling settings of endpoints, with their shares of all workers. With this target a start is always soon enough, so
 * no worker is retained for future jobs.
 */
export const SCALERS = [
  { scalerType: ScalerType.REQUEST_COUNT, scalerValue: 1, share: 0.7 },
  { scalerType: ScalerType.QUEUE_DELAY, scalerValue: 1, share: 0.2 },
  { scalerType: ScalerType.SLO, scalerValue: 120, share: 0.1 },
];
/** Quotas, as shares of the workers that the account's endpoints may have. */
export const QUOTA_SHARE = 0.8;
