/** Finds the pod and port of a request, by path or by host, and the path that the pod sees. Pure. */
import type { IncomingMessage } from 'node:http';
import { isErrorsPage } from '@slipway/kit/net/help-link';

/** The target of a request. */
export interface PodTarget {
  podId: string;
  port: number;
  /** Path and query as the pod sees them. */
  path: string;
  /** Prefix that was cut off the path. Empty in the host form. */
  prefix: string;
}

const PATH_BEGIN = '/pods/';
const PATH_FORM = /^\/pods\/([a-z0-9]{14})\/([1-9]\d{0,4})((?:[/?].*)?)$/;
const HOST_FORM = /^([a-z0-9]{14})-([1-9]\d{0,4})\.([a-z0-9.-]+?)\.?(?::\d+)?$/i;

/**
 * Returns the target by host. `undefined` if the host names no pod. `domains`: domains of the host form, `<pod
 * id>-<port>.<domain>`.
 */
export function podOfHost(
  { url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  domains: readonly string[],
): PodTarget | undefined {
  if (domains.length === 0 || isErrorsPage(url)) return undefined;
  const [, podId, port, domain] = HOST_FORM.exec(headers.host ?? '') ?? [];
  if (podId === undefined || !domains.includes(domain!.toLowerCase()) || !url.startsWith('/')) return undefined;
  return { podId: podId.toLowerCase(), port: Number(port), path: url, prefix: '' };
}

/** Returns the target by path. `undefined` if the path names no pod. Not for requests whose host names a worker. */
export function podOfPath({ url = '/' }: Pick<IncomingMessage, 'url'>): PodTarget | undefined {
  if (!url.startsWith(PATH_BEGIN)) return undefined;
  const [, podId, port, rest = ''] = PATH_FORM.exec(url) ?? [];
  if (podId === undefined) return undefined;
  return {
    podId,
    port: Number(port),
    path: rest.startsWith('/') ? rest : `/${rest}`,
    prefix: `/pods/${podId}/${port}`,
  };
}
