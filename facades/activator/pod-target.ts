/** Which port of which pod a request is for, by path or by host, and what of its path the pod sees. Pure. */
import type { IncomingMessage } from 'node:http';

/** What a request asks for. */
export interface PodTarget {
  podId: string;
  port: number;
  /** Path and query as the pod sees them. */
  path: string;
  /** What was cut off in front; empty in the host form. */
  prefix: string;
}

const PATH_BEGIN = '/pods/';
const PATH_FORM = /^\/pods\/([a-z0-9]{14})\/([1-9]\d{0,4})((?:[/?].*)?)$/;
const HOST_FORM = /^([a-z0-9]{14})-([1-9]\d{0,4})\.([a-z0-9.-]+?)\.?(?::\d+)?$/i;

/** Undefined: its host is no pod's. `domains`: behind a pod's id and port they make the host form, in which every path is the pod's. */
export function podOfHost({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>, domains: readonly string[]): PodTarget | undefined {
  if (domains.length === 0) return undefined;
  const [, podId, port, domain] = HOST_FORM.exec(headers.host ?? '') ?? [];
  if (podId === undefined || !domains.includes(domain!.toLowerCase()) || !url.startsWith('/')) return undefined;
  return { podId: podId.toLowerCase(), port: Number(port), path: url, prefix: '' };
}

/** Undefined: its path is none of a pod. Not to be asked of what is a worker's whatever its path. */
export function podOfPath({ url = '/' }: Pick<IncomingMessage, 'url'>): PodTarget | undefined {
  if (!url.startsWith(PATH_BEGIN)) return undefined;
  const [, podId, port, rest = ''] = PATH_FORM.exec(url) ?? [];
  if (podId === undefined) return undefined;
  return { podId, port: Number(port), path: rest.startsWith('/') ? rest : `/${rest}`, prefix: `/pods/${podId}/${port}` };
}
