/** SSH keys of the account, which pods find in PUBLIC_KEY, one a line. GraphQL's pubKey is the same text. */
import { Type } from 'typebox';
import type { Operation } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { misfit } from '../rejections.ts';
import { closed, named } from '../schema-parts.ts';

const PATH = '/v2/account/ssh-keys';
const TAG = { tag: 'account' };

/** Longest text of all keys, in characters. Core stores them as one text. */
const TEXT_LENGTH_MAX = 16_384;
const KEY_FORM = '^(ssh|ecdsa|sk)-[^\\s]+ [^\\s]+([ \\t][^\\n\\r]*)?$';
const KEYS_MAX = 100;

const KeysShape = named(
  'SshKeys',
  Type.Object({
    keys: Type.Array(Type.String(), { description: 'SSH public keys, in the form of lines of authorized_keys.' }),
  }),
);

/** The operations. */
export const sshKeyOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'GetSshKeys',
    method: 'GET',
    path: PATH,
    summary: 'Read the SSH keys of the account',
    status: 200,
    answer: KeysShape,
    handle: async (call, { core }) =>
      present((await core.access.call((client) => client.getAccount, {}, repeatable(call))).account?.publicKey ?? ''),
  }),
  operation({
    ...TAG,
    id: 'UpdateSshKeys',
    method: 'PUT',
    path: PATH,
    summary: 'Replace the SSH keys of the account',
    body: named(
      'UpdateSshKeysRequest',
      closed({
        keys: Type.Array(Type.String({ pattern: KEY_FORM, maxLength: TEXT_LENGTH_MAX }), {
          maxItems: KEYS_MAX,
          description: 'All SSH public keys of the account. An empty list removes them.',
        }),
      }),
    ),
    status: 200,
    answer: KeysShape,
    handle: async (call, { core }) => {
      const publicKey = call.body.keys.join('\n');
      if (publicKey.length > TEXT_LENGTH_MAX)
        throw misfit([`$.keys: must have at most ${TEXT_LENGTH_MAX} characters together`]);
      return present(
        (await core.access.call((client) => client.updateAccount, { publicKey }, repeatable(call))).account
          ?.publicKey ?? '',
      );
    },
  }),
];

function present(publicKey: string): { keys: string[] } {
  return {
    keys: publicKey
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  };
}
