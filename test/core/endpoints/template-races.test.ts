// test: postgres
/**
 * A template that is deleted or renamed at the moment when a request names it: the later of the two gets an error that
 * says what is wrong.
 */

import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Runs `statement` in a transaction that commits only when `second` waits for it. Returns how `second` ends. */
async function race(core: CoreReplicas, statement: string, second: () => Promise<unknown>): Promise<string> {
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
  const first = core.sql.begin(async (sql) => {
    await sql.unsafe(statement);
    hold();
    await mayCommit;
  });
  await isHeld;
  const outcome = reasonOf(second());
  const waiting = () =>
    core.sql`SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE NOT l.granted AND a.datname = current_database()`;
  await waitFor('somebody to wait for the lock', async () => (await waiting()).length > 0);
  commit();
  await first;
  return outcome;
}

t.test('a template that is deleted while an endpoint is made of it', async (t) => {
  const core = await startReplicas(t);
  const templateId = await core.createTemplate();
  const outcome = await race(core, `DELETE FROM template WHERE id = '${templateId}'`, () =>
    core.createEndpoint({ templateId }),
  );
  t.match(outcome, `INVALID_REQUEST: template_id: there is no template "${templateId}" in this account`);
  t.same(await core.sql`SELECT FROM audit_event WHERE action = 'CreateEndpoint'`, []);
});

t.test('a template that is deleted while an endpoint gets it', async (t) => {
  const core = await startReplicas(t);
  const id = await core.createEndpoint();
  const templateId = await core.createTemplate();
  const outcome = await race(core, `DELETE FROM template WHERE id = '${templateId}'`, () =>
    core.updateEndpoint(id, { templateId }),
  );
  t.match(outcome, `INVALID_REQUEST: template_id: there is no template "${templateId}" in this account`);
});

t.test('two templates that get one name', async (t) => {
  const core = await startReplicas(t);
  const [one, two] = [await core.createTemplate({ name: 'one' }), await core.createTemplate({ name: 'two' })];
  const template = Template.fromPartial({ id: two, name: 'new' });
  const rename = () => call(core.clients.templates, 'updateTemplate', { template, updateMask: ['name'] }, core.key);
  t.match(await race(core, `UPDATE template SET name = 'new' WHERE id = '${one}'`, rename), /^NAME_TAKEN/);
});
