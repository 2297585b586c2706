/** The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address. */
import { clientNetwork } from '@slipway/kit/net/network';
import t from 'tap';

for (const [address, network] of [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['2001:db8::2:3:4:5:6', '2001:db8:0:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
] as const) {
  t.equal(clientNetwork(address), network, address);
}
