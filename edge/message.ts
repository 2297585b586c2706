/**
 * Parts of Envoy's configuration as plain objects in the JSON form of its protocol buffers; Envoy itself checks names
 * and types (--mode validate).
 */

/** A message of Envoy's API. */
export type Message = Readonly<Record<string, unknown>>;

/** Returns a message with its type in it, as extensions require. `type`: its full name. */
export function typed(type: string, fields: Message = {}): Message {
  return { '@type': `type.googleapis.com/${type}`, ...fields };
}

/** Returns a duration in Envoy's form, seconds with a fraction. */
export function duration(ms: number): string {
  return `${ms / 1_000}s`;
}

/** Address at which something listens or is reached. */
export interface HostPort {
  host: string;
  port: number;
}

/** Returns the address as text, as people write it. */
export function hostPortText({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the address in Envoy's form. */
export function socketAddress({ host, port }: HostPort): Message {
  return { socket_address: { address: host, port_value: port } };
}
