/** Rpcs of AlertService, who may call them, and a request of each. */

import type { CreateAlertTargetResponse } from '@slipway/proto/gen/slipway/v1/alert_service';
import { AlertTargetKind } from '@slipway/proto/gen/slipway/v1/alert_service';
import type { Ask, RULES } from './scope-world.ts';
import { any, core, onNew, plain, rpcs } from './scope-world.ts';

const CREATE = 'AlertService/CreateAlertTarget';
const TARGET = { name: 'alerts', kind: AlertTargetKind.WEBHOOK, url: 'https://alerts.invalid/' };

async function newTarget(): Promise<string> {
  const made = (await any.call(rpcs.get(CREATE)!, TARGET, core.key)) as CreateAlertTargetResponse;
  return made.target!.id;
}

export const ALERT_ROWS: [rpc: string, rule: keyof typeof RULES, ask: Ask][] = [
  [CREATE, 'alerts: make', plain(TARGET)],
  ['AlertService/ListAlertTargets', 'alerts: read', plain()],
  ['AlertService/ListAlerts', 'alerts: read', plain()],
  ['AlertService/SilenceAlertTarget', 'alerts: change', onNew(newTarget, (id) => ({ id, silenceMs: 1_000 }))],
  ['AlertService/TestAlertTarget', 'alerts: change', onNew(newTarget)],
  ['AlertService/DeleteAlertTarget', 'alerts: change', onNew(newTarget)],
];
