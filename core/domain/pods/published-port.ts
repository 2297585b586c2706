/** TCP ports of a pod that clients can dial at its machine. */

/** Form of the addresses that agents report. Any other text counts as no address. */
const HOST_AND_PORT = /^(?:([A-Za-z0-9._-]{1,253})|\[([0-9A-Fa-f:.]{2,45})\]):([1-9]\d{0,4})$/;

export interface PublishedPort {
  /** Number inside the pod. */
  port: number;
  host: string;
  /** Number at the host. */
  publicPort: number;
}

/** Returns the port that is published at an address, `undefined` if the address is not host:port. */
export function publishedPort(port: number, address: string): PublishedPort | undefined {
  const [, name, ipv6, digits] = HOST_AND_PORT.exec(address) ?? [];
  const host = name ?? ipv6;
  const publicPort = Number(digits);
  return host === undefined || publicPort > 65_535 ? undefined : { port, host, publicPort };
}
