/** Usage spans written by hand, and calls that sum them up. */
import { ListUsageRequest, UsageKind } from '@slipway/proto/gen/slipway/v1/usage_service';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import type { CoreReplicas } from '../../helpers/system/core-replicas.ts';

export const at = (text: string): Date => new Date(`${text}Z`);

export interface SpanFields {
  kind?: string;
  subject: string;
  endpoint?: string;
  template?: string;
  image?: string;
  places?: string[];
  gpu?: string;
  disk?: number;
  price?: number;
  from: string;
  to?: string;
  account?: string;
}

export const addSpan = (core: CoreReplicas, span: SpanFields) => core.sql`
  INSERT INTO usage_span
    (account_id, kind, subject_id, endpoint_id, template_id, image_name, locations, gpu_type_id, disk_gb, usd_per_hour,
      started_at, ended_at)
  VALUES (${span.account ?? core.accountId}, ${span.kind ?? 'WORKER'}, ${span.subject}, ${span.endpoint ?? ''},
    ${span.template ?? ''}, ${span.image ?? ''},
    ${span.places ?? []}, ${span.gpu ?? ''}, ${span.disk ?? 0}, ${span.price ?? 0}, ${at(span.from)},
    ${span.to ? at(span.to) : null})`;

export const answer = (core: CoreReplicas, fields: Partial<ListUsageRequest>, key = core.key) => {
  const request = ListUsageRequest.fromPartial({
    kind: UsageKind.WORKER,
    startTime: at('2026-01-01T00:00'),
    endTime: at('2027-01-01T00:00'),
    ...fields,
  });
  return call(core.clients.usage, 'listUsage', request, key);
};

export const usage = async (core: CoreReplicas, fields: Partial<ListUsageRequest>, key = core.key) =>
  (await answer(core, fields, key)).records;
