/** Log routes of a worker and of a pod (docs/reference/api.md#log-of-a-worker-or-a-pod). */
import { Type } from 'typebox';
import type { Operation } from '../operation.ts';
import { operation } from '../operation.ts';
import { word } from '../schema-parts.ts';
import { logOfLines } from './log-of-lines.ts';
import { SOURCES, TAIL_DEFAULT, TAIL_MAX } from './log-query.ts';
import { podReader, workerReader } from './log-readers.ts';

const LogRequest = Type.Object({
  source: Type.Optional(word(SOURCES, 'Lines of the container, of the system around it, or of both. Default: both.')),
  tail: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: TAIL_MAX,
      default: TAIL_DEFAULT,
      description: 'Number of earlier lines to send first.',
    }),
  ),
  since: Type.Optional(Type.String({ description: 'Only lines from this moment on. Overrides tail.' })),
});

/** Log of a worker. */
export const workerLog: Operation = operation({
  id: 'StreamWorkerLogs',
  method: 'GET',
  path: '/v2/serverless/{endpointId}/workers/{workerId}/logs',
  tag: 'serverless',
  summary: 'Follow the log of a worker',
  query: LogRequest,
  checksQuery: true,
  status: 200,
  other: { contentType: 'text/event-stream' },
  handle: ({ request, reply }, parts) => logOfLines(parts, workerReader(parts))(request, reply),
});

/** Log of a pod. */
export const podLog: Operation = operation({
  id: 'StreamPodLogs',
  method: 'GET',
  path: '/v2/pods/{podId}/logs',
  tag: 'pods',
  summary: 'Follow the log of a pod',
  query: LogRequest,
  checksQuery: true,
  status: 200,
  other: { contentType: 'text/event-stream' },
  handle: ({ request, reply }, parts) => logOfLines(parts, podReader(parts))(request, reply),
});
