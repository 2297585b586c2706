/** The authority of a server's certificate, as a careless client sees it. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { digestOf } from '@slipway/kit/tls/pin';

/** Returns the digest of the authority that a server shows. `address`: grpcs://host:port. */
export async function digestAt(address: string): Promise<string> {
  const { hostname: host, port } = new URL(address.replace('grpcs', 'https'));
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const authority = socket.getPeerX509Certificate()!.issuerCertificate!;
  socket.destroy();
  return digestOf(authority);
}
