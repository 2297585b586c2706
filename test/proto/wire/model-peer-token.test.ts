/** Tokens of machines that copy models from each other. */
import { checkModelPeerToken, signModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import t from 'tap';

const key = Buffer.from('key of a machine');
const model = { repository: 'a/b', commit: '0'.repeat(40), accountNumber: 3 };
const token = signModelPeerToken(key, model, 1_000);

t.test('a token is for one model, one machine and a time', async (t) => {
  t.ok(checkModelPeerToken(key, model, token, 999));
  t.notOk(checkModelPeerToken(key, model, token, 1_000), 'it expires');
  t.notOk(checkModelPeerToken(Buffer.from('another'), model, token, 999));
  t.notOk(checkModelPeerToken(key, { ...model, accountNumber: 0 }, token, 999));
  t.notOk(checkModelPeerToken(key, { ...model, repository: 'a/c' }, token, 999));
  t.notOk(checkModelPeerToken(key, { ...model, commit: '1'.repeat(40) }, token, 999));
});

t.test('what is none', async (t) => {
  const [, hex] = token.split('.');
  for (const other of ['', '.', hex!, `2000.${hex}`, `1000.${hex!.slice(1)}`, `1000.${hex}0`, `-1.${hex}`, ` ${token}`])
    t.notOk(checkModelPeerToken(key, model, other, 999), other);
});
