/** Rpcs of JoinService and PartService, of pools and of removed prices: who may call them, and a request of each. */

import type { CreateJoinTokenResponse } from '@slipway/proto/gen/slipway/v1/join_service';
import { AuthorityChange } from '@slipway/proto/gen/slipway/v1/join_service';
import { MachinePool } from '@slipway/proto/gen/slipway/v1/machine';
import type { Ask, RULES } from './scope-world.ts';
import { any, core, plain, rpcs } from './scope-world.ts';

const CREATE = 'JoinService/CreateJoinToken';
const SET_POOL = 'MachineService/SetMachinePool';
const POOL = MachinePool.fromPartial({ name: 'scope', labels: { tier: 'fast' } });
const UNKNOWN = { token: 'unknown', machineId: 'abcdefghijkl', name: 'rack', signingRequest: Buffer.from('none') };

async function newToken(): Promise<string> {
  const made = (await any.call(rpcs.get(CREATE)!, {}, core.rootKey)) as CreateJoinTokenResponse;
  return made.token!.id;
}

async function newPool(): Promise<string> {
  const name = 'scope';
  await any.call(rpcs.get(SET_POOL)!, { pool: MachinePool.fromPartial({ name }) }, core.rootKey);
  return name;
}

async function newPrice(): Promise<string> {
  await any.call(rpcs.get('UsageService/SetPrices')!, { prices: [{ item: 'CPU', usdPerHour: 1 }] }, core.rootKey);
  return 'CPU';
}

export const JOIN_ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  ['PartService/ListParts', 'operator', plain()],
  [CREATE, 'operator', plain()],
  ['JoinService/ListJoinTokens', 'operator', plain()],
  ['MachineService/ListMachinePools', 'operator', plain()],
  [SET_POOL, 'operator', plain({ pool: POOL, updateMask: ['labels'] })],
  ['MachineService/DeleteMachinePool', 'operator', async () => ({ request: { name: await newPool() } })],
  ['JoinService/RevokeJoinToken', 'operator', async () => ({ request: { id: await newToken() } })],
  ['UsageService/DeletePrices', 'operator', async () => ({ request: { items: [await newPrice()] } })],
  ['JoinService/JoinMachine', 'no key', plain(UNKNOWN)],
  ['JoinService/RenewCertificate', 'no key', plain()],
  ['JoinService/ListAuthorities', 'anybody', plain()],
  ['JoinService/ListReplicas', 'anybody', plain()],
  ['JoinService/ReadSecretKeys', 'operator', plain()],
  ['JoinService/RotateSecretKey', 'operator', plain()],
  ['JoinService/ReadAuthorities', 'operator', plain()],
  ['JoinService/ChangeAuthority', 'operator', plain({ change: AuthorityChange.ROTATE })],
];
