/**
 * Token by which an edge tells an activator the endpoint of a request that it has authorized. Core signs it, Envoy adds
 * it to requests to activators only, and the facade verifies it. These three have the edges' key; clients and workers
 * do not.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

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

/** Reads the header value. Returns `undefined` if it is not valid for this key. */
export function readActivation(edgeKey: string, text: string): Activation | undefined {
  const [, endpointId, accountId] = FORM.exec(text) ?? [];
  if (edgeKey === '' || endpointId === undefined || accountId === undefined) return undefined;
  const expected = Buffer.from(activationText(edgeKey, { endpointId, accountId }));
  const given = Buffer.from(text);
  return given.length === expected.length && timingSafeEqual(given, expected) ? { endpointId, accountId } : undefined;
}

/** Returns the value of EDGE_HEADER. `edgeKey` must not be empty. */
export function edgeText(edgeKey: string): string {
  return createHmac('sha256', edgeKey).update('edge').digest('base64url');
}

/** Returns whether the value is valid for this key. */
export function isEdgeText(edgeKey: string, text: string): boolean {
  if (edgeKey === '') return false;
  const [given, expected] = [Buffer.from(text), Buffer.from(edgeText(edgeKey))];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
