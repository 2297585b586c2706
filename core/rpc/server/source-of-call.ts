/** Returns where a call came from: the address that a facade names, else the connection's. */
import { isIP } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import { CALLER_ADDRESS_KEY } from '@slipway/kit/observe/caller-address';
import type { CallSource } from '../../store/accounts/call-source.ts';

/** A call, as far as it says where it came from. */
interface SourcedCall {
  metadata: Metadata;
  getPeer(): string;
}

/**
 * Returns the source of a call. A program that calls core directly may claim an address; `via` then has its own, which
 * it cannot hide.
 */
export function sourceOfCall(call: SourcedCall): CallSource {
  const [claimed] = call.metadata.get(CALLER_ADDRESS_KEY);
  return claimedSource(typeof claimed === 'string' ? claimed : '', call);
}

/** Returns the source of a call whose request names the caller's address. Empty, or no address: the call names none. */
export function claimedSource(claimed: string, call: Pick<SourcedCall, 'getPeer'>): CallSource {
  const peer = addressOf(call.getPeer());
  return isIP(claimed) === 0 ? { address: peer, via: '' } : { address: plain(claimed), via: peer };
}

/** Returns the address in `address:port`. Empty if there is none. */
function addressOf(peer: string): string {
  const address = peer.slice(0, peer.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? '' : plain(address);
}

/** Returns an IPv4 address without the prefix that it has on a socket of both families. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
