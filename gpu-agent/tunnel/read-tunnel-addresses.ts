/** Reads where tunnels lead, for gpu-agent/config.ts. */
import type { EnvReader } from '@slipway/kit/host/env';

/** Returns the origins of SLIPWAY_TUNNEL_ADDRESS. */
export function readTunnelAddresses(reader: EnvReader): string[] {
  return reader.list('SLIPWAY_TUNNEL_ADDRESS', []).flatMap((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (
      url &&
      /^https?:$/.test(url.protocol) &&
      url.host !== '' &&
      url.pathname === '/' &&
      url.search + url.hash + url.username === ''
    )
      return [url.origin];
    reader.fault(
      `SLIPWAY_TUNNEL_ADDRESS holds ${JSON.stringify(text)}, but must be http://HOST:PORT of a facade or ` +
        'https://HOST:PORT of an edge',
    );
    return [];
  });
}
