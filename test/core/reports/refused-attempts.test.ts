// test: postgres
/** Refused attempts in the audit trail: who, what, why and from where; a flood of them is counted. */
import { REFUSALS_MAX, REFUSALS_WINDOW_MS, RefusedAttempts } from '@slipway/core/reports/refused-attempts';
import type { RefusedAttempt } from '@slipway/core/store/accounts/audit-store';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { ListAuditEventsRequest } from '@slipway/proto/gen/slipway/v1/audit_service';
import { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { logger } from '../../helpers/system/job-engine.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const list = (core: CoreReplicas, request: Partial<ListAuditEventsRequest> = {}, key = core.key) =>
  call(core.clients.audit, 'listAuditEvents', ListAuditEventsRequest.fromPartial(request), key);

t.test('refused attempts, as distinct from mistakes', async (t) => {
  const core = await startReplicas(t);
  const id = await core.createEndpoint({ workersMin: 0 });
  const reads = await core.newKey(KeyScope.READ_ONLY);
  const before = (await list(core)).events.length;
  await reasonOf(core.createTemplate({ name: '' }));
  await reasonOf(core.createEndpoint({ networkVolumeIds: ['nosuch'] }));
  await reasonOf(core.updateEndpoint(id, { workersMin: 9 }));
  await reasonOf(call(core.clients.endpoints, 'deleteEndpoint', { id }, core.key));
  await reasonOf(call(core.clients.endpoints, 'deleteEndpoint', { id }, reads));
  await reasonOf(call(core.clients.endpoints, 'deleteEndpoint', { id }, reads));
  await reasonOf(call(core.clients.keys, 'revokeKey', { id: 'nosuch' }, core.key));
  const wrong = call(core.clients.access, 'checkAccess', { endpointId: id, write: true, api: 1 }, 'rpa_wrong');
  await reasonOf(wrong);
  await waitFor(
    'the refused attempts',
    async () => (await list(core, { view: REFUSED }, core.rootKey)).events.length >= 4,
  );
  const { events } = await list(core);
  // The template that the rejected endpoint would have run, and what was refused.
  t.match(
    events.slice(0, events.length - before).toReversed(),
    [
      { action: 'CreateTemplate', refused: '' },
      { action: 'DeleteEndpoint', subjectId: id, refused: 'WORKERS_NOT_ZERO', detail: /workers/, attempts: 1 },
      { action: 'DeleteEndpoint', subjectId: id, refused: 'UNAUTHORIZED', keyName: /./, address: '127.0.0.1' },
      { action: 'RevokeKey', subjectId: 'nosuch', refused: 'NOT_FOUND' },
    ],
    'a repeat is counted, and written later',
  );
  t.match((await list(core, { view: REFUSED })).events.length, 3, 'what unknown keys did is for the operator');
  t.match(
    (await list(core, { view: { ...REFUSED, filters: { refused: 'yes', address: '127.0.0.1' } } }, core.rootKey))
      .events,
    [{ action: 'CheckAccess', keyId: '', accountId: '', subjectId: id, refused: 'UNAUTHORIZED' }],
  );
  t.match(
    await reasonOf(list(core, { view: { ...REFUSED, filters: { refused: 'maybe' } } })),
    /^INVALID_REQUEST: .*yes, no/,
  );
});

const REFUSED = ListView.fromPartial({ filters: { refused: 'yes' } });

t.test('a flood of refused attempts', async (t) => {
  const clock = new ManualClock();
  const rows: RefusedAttempt[] = [];
  const recordRefused = async (attempts: readonly RefusedAttempt[]): Promise<void> => void rows.push(...attempts);
  const refusals = new RefusedAttempts({ audit: { recordRefused }, clock, logger });
  await refusals.start();
  const attempt = { accountId: '', via: '', subjectId: '', refused: 'UNAUTHORIZED', detail: '', attempts: 1 };
  for (let n = 0; n < 10_000; n += 1) {
    const address = `10.0.${n % 100}.1`;
    refusals.record({ ...attempt, keyId: '', address, action: `Do${n % 7}` });
  }
  clock.pass(REFUSALS_WINDOW_MS);
  await waitFor('the row of the others', () =>
    rows.some(({ action, keyId, address }) => action === 'several' && `${keyId}${address}` === ''),
  );
  t.ok(rows.length <= 3 * REFUSALS_MAX, 'few rows');
  t.equal(
    rows.reduce((sum, row) => sum + row.attempts, 0),
    10_000,
    'each attempt is counted',
  );
  refusals.record({ ...attempt, keyId: 'k', address: '10.0.0.1', action: 'DeleteEndpoint' });
  refusals.record({ ...attempt, keyId: 'k', address: '10.0.0.1', action: 'DeleteEndpoint' });
  await refusals.stop();
  t.match(
    rows.slice(-2),
    [
      { keyId: 'k', attempts: 1 },
      { keyId: 'k', attempts: 1 },
    ],
    'a stop writes what is counted',
  );
});
