/**
 * Token by which an edge tells an activator the endpoint of a request that it has authorized. Core signs it, Envoy adds
 * it to requests to activators only, and the facade verifies it. These three have the edges' key; clients and workers
 * do not.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { EdgeKeys } from '../host/edge-keys.ts';

/** Header in which an activator finds it. Clients' own are dropped by the edge. */
export const ACTIVATION_HEADER = 'x-slipway-activation';
/** Where Envoy finds it: key in the metadata `envoy.lb` of an activator. */
export const ACTIVATION_METADATA = 'activation';

/**
 * Header that proves that a request comes from an edge, so that its forwarded headers are trusted. Edges drop it from
 * client requests.
 */
export const EDGE_HEADER = 'x-slipway-edge';
/** Where Envoy finds it: key in the metadata `envoy.lb` of a facade. */
export const EDGE_METADATA = 'edge';

/** An endpoint and its owner. */
export interface Activation {
  endpointId: string;
  accountId: string;
}

const FORM = /^([\w-]{1,128})\.([\w-]{1,128})\.[\w-]+$/;

/** Returns the header value. `edgeKey` must not be empty. */
export function activationText(edgeKey: string, { endpointId, accountId }: Activation): string {
  const text = `${endpointId}.${accountId}`;
  return `${text}.${createHmac('sha256', edgeKey).update(`activation ${text}`).digest('base64url')}`;
}

/** Reads the header value. Returns `undefined` if it is valid for none of these keys. */
export function readActivation(edgeKeys: EdgeKeys, text: string): Activation | undefined {
  const [, endpointId, accountId] = FORM.exec(text) ?? [];
  if (endpointId === undefined || accountId === undefined) return undefined;
  const activation = { endpointId, accountId };
  return edgeKeys.some((key) => isSame(text, activationText(key, activation))) ? activation : undefined;
}

/** Returns the value of EDGE_HEADER. `edgeKey` must not be empty. */
export function edgeText(edgeKey: string): string {
  return createHmac('sha256', edgeKey).update('edge').digest('base64url');
}

/** Returns whether the value is valid for one of these keys. */
export function isEdgeText(edgeKeys: EdgeKeys, text: string): boolean {
  return edgeKeys.some((key) => isSame(text, edgeText(key)));
}

function isSame(text: string, right: string): boolean {
  const [given, expected] = [Buffer.from(text), Buffer.from(right)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
