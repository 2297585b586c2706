/** Health of the part that runs in a container: exits with 0 if it serves. `node healthcheck.mjs PART` */
import http2 from 'node:http2';

const [part] = process.argv.slice(2);
const { env } = process;

/** Returns host and port at which a part that listens on all addresses is reached from here. */
function local(address) {
  return address.replace(/^(0\.0\.0\.0|\[::\]|):/, '127.0.0.1:');
}

/** Asks the facade. */
function facadeAnswers() {
  if (!env.SLIPWAY_HTTP_CERT_FILE) return answers(`http://127.0.0.1:${env.SLIPWAY_HTTP_PORT || 8080}/readyz`);
  env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  return answers(`https://127.0.0.1:${env.SLIPWAY_HTTP_PORT || 8080}/readyz`);
}

/**
 * Asks core at its first address by grpc.health.v1: an empty request, and an answer whose only field is 1 (SERVING). By
 * TLS where core speaks it; who answers on this host needs no proof.
 */
function serving(addresses) {
  const [address] = addresses.split(',').map((each) => each.trim());
  const here = local(address.replace('grpcs://', ''));
  const isLoopback = /^(127\.|localhost:|\[::1\])/.test(address);
  const isPlain = isLoopback || (env.SLIPWAY_CORE_PLAINTEXT === 'true' && !address.startsWith('grpcs://'));
  return new Promise((resolve, reject) => {
    const session = http2
      .connect(`http${isPlain ? '' : 's'}://${here}`, { rejectUnauthorized: false })
      .once('error', reject);
    const call = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const parts = [];
    call.on('data', (piece) => parts.push(piece)).once('error', reject);
    call.once('end', () =>
      resolve(
        Buffer.concat(parts)
          .subarray(5)
          .equals(Buffer.from([8, 1])),
      ),
    );
    call.end(Buffer.alloc(5));
  });
}

async function answers(url) {
  return (await fetch(url)).ok;
}

async function connected(address) {
  return /^slipway_agent_connected 1$/m.test(await (await fetch(`http://${address}/metrics`)).text());
}

const CHECKS = {
  core: () => serving(env.SLIPWAY_CORE_LISTEN || '127.0.0.1:50051'),
  facade: facadeAnswers,
  slipway: () => answers(`http://127.0.0.1:${env.SLIPWAY_HTTP_PORT || 8080}/readyz`),
  edge: () => {
    // The certificate is for the public name.
    if (env.SLIPWAY_EDGE_CERT_FILE) env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const scheme = env.SLIPWAY_EDGE_CERT_FILE ? 'https' : 'http';
    return answers(`${scheme}://${local(env.SLIPWAY_EDGE_LISTEN || '127.0.0.1:8443')}/edge/readyz`);
  },
  agent: () => connected(local(env.SLIPWAY_METRICS_LISTEN)),
};

const healthy = await CHECKS[part]().catch(() => false);
process.exit(healthy ? 0 : 1);
