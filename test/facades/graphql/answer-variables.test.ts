/** Environment variables of an answer are bounded before it is written, however short they are. */
import { presentTemplates } from '@slipway/facades/graphql/templates/present-template';
import t from 'tap';

const env = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`N${n}`, 'x']));
const templates = Array.from({ length: 100 }, (_, n) => ({ id: `${n}`, env }));
const context = (selectsEnv: boolean) => ({ selectsEnv, variables: { bytes: 0 }, turn: async () => undefined });

t.test('the same list under many names has an end long before the answer is written', async (t) => {
  const once = context(true);
  t.equal((await presentTemplates(templates, once)).length, 100);
  t.equal((await presentTemplates(templates, once)).length, 100);
  const more = async (): Promise<void> => {
    for (let name = 0; name < 5; name += 1) await presentTemplates(templates, once);
  };
  await t.rejects(more(), { extensions: { reason: 'INVALID_REQUEST' }, message: /more than 64 MiB/ });
});

t.test('lists whose variables are not selected are not counted', async (t) => {
  const without = context(false);
  for (let name = 0; name < 10; name += 1) await presentTemplates(templates, without);
  t.equal(without.variables.bytes, 0);
});
