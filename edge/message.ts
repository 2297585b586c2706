/**
 * Parts of Envoy's configuration as plain objects in the JSON form of its protocol buffers; Envoy itself checks names
 * and types (--mode validate).
 */

/** A message of Envoy's API. */
export type Message = Readonly<Record<string, unknown>>;

/** A message whose type stands in it, as extensions are given. `type`: its full name. */
export function typed(type: string, fields: Message = {}): Message {
  return { '@type': `type.googleapis.com/${type}`, ...fields };
}

/** A duration. Envoy takes seconds with a fraction. */
export function duration(ms: number): string {
  return `${ms / 1_000}s`;
}

/** Where something listens or is reached. */
export interface HostPort {
  host: string;
  port: number;
}

/** As people write it. */
export function hostPortText({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address as Envoy has it. */
export function socketAddress({ host, port }: HostPort): Message {
  return { socket_address: { address: host, port_value: port } };
}
