/** AlertService: decode, call a use case, encode. */
import type {
  AlertServiceServer,
  AlertRecord as RecordMessage,
  AlertTarget as TargetMessage,
} from '@slipway/proto/gen/slipway/v1/alert_service';
import { AlertTargetKind as WireKind } from '@slipway/proto/gen/slipway/v1/alert_service';
import type { Access, Grant } from '../../access/access.ts';
import { unauthorized } from '../../domain/accounts/permission.ts';
import type { AlertRecord, AlertTargetKind } from '../../domain/reports/alert.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { AlertContext } from '../../reports/alert-targets.ts';
import { createAlertTarget, deleteAlertTarget, silenceAlertTarget } from '../../reports/alert-targets.ts';
import type { AlertSender } from '../../singleton-tasks/alert-sender.ts';
import type { AlertTarget } from '../../store/reports/alert-store.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, positionFromToken, positionToken } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

const KIND_FROM_WIRE: Readonly<Record<WireKind, AlertTargetKind | undefined>> = {
  [WireKind.UNSPECIFIED]: undefined,
  [WireKind.WEBHOOK]: 'WEBHOOK',
  [WireKind.SLACK]: 'SLACK',
  [WireKind.EMAIL]: 'EMAIL',
};

/** Returns the handlers of the service. The operator's key is about all accounts. */
export function alertHandlers(
  access: Access,
  context: AlertContext,
  sender: Pick<AlertSender, 'test'>,
  lists: ListParts,
): AlertServiceServer {
  const { logger } = lists;
  return {
    createAlertTarget: unary(logger, async ({ name, kind: wireKind, url }, apiKey) => {
      const actor = await whole(access, apiKey, true);
      const kind = KIND_FROM_WIRE[wireKind];
      if (!kind) throw invalid('kind must be ALERT_TARGET_KIND_WEBHOOK, …_SLACK or …_EMAIL');
      return { target: targetToMessage(await createAlertTarget(context, actor, { name, kind, url })) };
    }),
    listAlertTargets: unary(logger, async (_request, apiKey) => {
      const { accountId } = await whole(access, apiKey, false);
      return { targets: (await context.alerts.targets(accountId)).map(targetToMessage) };
    }),
    silenceAlertTarget: unary(logger, async ({ id, silenceMs }, apiKey) => {
      const actor = await whole(access, apiKey, true);
      return { target: targetToMessage(await silenceAlertTarget(context, actor, id, silenceMs)) };
    }),
    testAlertTarget: unary(logger, async ({ id }, apiKey) => {
      const { accountId } = await whole(access, apiKey, true);
      return { error: (await sender.test(id, accountId)) ?? '' };
    }),
    deleteAlertTarget: unary(logger, async ({ id }, apiKey) => {
      await deleteAlertTarget(context, await whole(access, apiKey, true), id);
      return {};
    }),
    listAlerts: listing(lists, async ({ limit: asked, pageToken }, apiKey, enter) => {
      if (asked < 0 || asked > LIMIT_MAX) throw invalid(`limit must be from 1 to ${LIMIT_MAX}`);
      const { accountId } = await whole(access, apiKey, false);
      const limit = asked || LIMIT_DEFAULT;
      const after = positionFromToken(pageToken);
      await enter(accountId);
      const found = await context.alerts.list(accountId, limit + 1, after);
      const shown = found.slice(0, limit);
      return {
        alerts: shown.map(alertToMessage),
        nextPageToken: positionToken(found.length > limit ? shown.at(-1)?.id : undefined),
      };
    }),
  };
}

/** Returns the grant of a call about a whole account. A key for some endpoints makes none. */
async function whole(access: Access, apiKey: string, write: boolean): Promise<Grant> {
  const grant = await access.check(apiKey, { api: 'MANAGEMENT', write });
  if (grant.caller.endpointIds.length > 0) throw unauthorized();
  return grant;
}

function targetToMessage(target: AlertTarget): TargetMessage {
  const { id, name, kind, host, createdAt, silentUntil, deliveredAt, lastError } = target;
  return {
    ...{ id, name, host, lastError },
    kind: WireKind[kind],
    createTime: createdAt,
    silentUntil: silentUntil ?? undefined,
    deliveredTime: deliveredAt ?? undefined,
  };
}

function alertToMessage({ id, problem, beganAt, endedAt }: AlertRecord): RecordMessage {
  return { id, problem, beginTime: beganAt, endTime: endedAt };
}
