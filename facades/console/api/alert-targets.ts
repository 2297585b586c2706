/** Addresses that problems are sent to: lists, creates, silences, tests and deletes them. */
import type { AlertTarget } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AlertTargetKind } from '@slipway/proto/gen/slipway/v1/alert_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { ConsoleParts } from '../console-parts.ts';
import { settingsOf } from '../read-settings.ts';
import type { AlertTargetKindName, AlertTargetView, AlertTestView } from '../views-of-alerts.ts';
import { optionsOf } from './list-query.ts';

const PATH = '/console/api/alert-targets';
const KINDS: Readonly<Record<AlertTargetKindName, AlertTargetKind>> = {
  webhook: AlertTargetKind.WEBHOOK,
  slack: AlertTargetKind.SLACK,
  email: AlertTargetKind.EMAIL,
};
/** Timeout of a test message, in milliseconds: core waits for the receiver. */
const TEST_MS = 45_000;

/** Adds the routes. */
export function alertTargetRoutes(
  app: FastifyInstance,
  { core, clock }: ConsoleParts,
  onRequest: onRequestAsyncHookHandler,
): void {
  app.get(PATH, { onRequest }, async (request): Promise<AlertTargetView[]> => {
    const { targets } = await core.alerts.call((client) => client.listAlertTargets, {}, optionsOf(request));
    return targets.map((target) => targetView(target, clock.nowMs()));
  });
  app.post(PATH, { onRequest }, async (request): Promise<AlertTargetView> => {
    const { name, kind, url } = settingsOf(request);
    if (typeof name !== 'string' || typeof url !== 'string')
      throw new CoreError('INVALID_REQUEST', '"name" and "url" must be texts.');
    if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind))
      throw new CoreError('INVALID_REQUEST', `"kind" must be one of ${Object.keys(KINDS).join(', ')}.`);
    const asked = { name, kind: KINDS[kind as AlertTargetKindName], url };
    const options = { ...optionsOf(request), repeatable: false };
    const { target } = await core.alerts.call((client) => client.createAlertTarget, asked, options);
    return targetView(target!, clock.nowMs());
  });
  app.post(`${PATH}/:id/silence`, { onRequest }, async (request): Promise<AlertTargetView> => {
    const { silenceMs } = settingsOf(request);
    if (!Number.isSafeInteger(silenceMs) || (silenceMs as number) < 0)
      throw new CoreError('INVALID_REQUEST', '"silenceMs" must be a whole number of milliseconds.');
    const asked = { id: idOf(request), silenceMs: silenceMs as number };
    const { target } = await core.alerts.call((client) => client.silenceAlertTarget, asked, optionsOf(request));
    return targetView(target!, clock.nowMs());
  });
  app.post(`${PATH}/:id/test`, { onRequest }, async (request): Promise<AlertTestView> => {
    const options = { ...optionsOf(request), repeatable: false, tryMs: TEST_MS };
    const { error } = await core.alerts.call((client) => client.testAlertTarget, { id: idOf(request) }, options);
    return { error };
  });
  app.delete(`${PATH}/:id`, { onRequest }, async (request) => {
    await core.alerts.call((client) => client.deleteAlertTarget, { id: idOf(request) }, optionsOf(request));
    return {};
  });
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

function nameOf(kind: AlertTargetKind): AlertTargetKindName {
  return (Object.keys(KINDS) as AlertTargetKindName[]).find((name) => KINDS[name] === kind) ?? 'webhook';
}

function targetView(target: AlertTarget, nowMs: number): AlertTargetView {
  const { id, name, kind, host, silentUntil, deliveredTime, lastError } = target;
  const silentUntilMs = silentUntil?.getTime() ?? 0;
  return {
    id,
    name,
    kind: nameOf(kind),
    host,
    // A silence that is over is still stored.
    silentUntilMs: silentUntilMs > nowMs ? silentUntilMs : 0,
    deliveredMs: deliveredTime?.getTime() ?? 0,
    lastError,
  };
}
