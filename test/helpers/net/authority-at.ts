/** The authority of a server's certificate, as a careless client sees it. */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { digestOf } from '@slipway/kit/tls/pin';

/** Returns the digest of the authority that a server shows. `address`: grpcs://host:port. */
export async function digestAt(address: string): Promise<string> {
  return digestOf((await shownAt(address)).issuerCertificate!);
}

/** Returns the serial number of the certificate that a server shows. */
export async function serialAt(address: string): Promise<string> {
  return (await shownAt(address)).serialNumber;
}

async function shownAt(address: string): Promise<X509Certificate> {
  const { hostname: host, port } = new URL(address.replace('grpcs', 'https'));
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const certificate = socket.getPeerX509Certificate()!;
  socket.destroy();
  return certificate;
}
