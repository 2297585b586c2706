/** Error texts name the fields that the client sent. */

import { queueErrorShape } from '@slipway/facades/plugins/errors/error-handler';
import {
  GRAPHQL_NAMES,
  GRAPHQL_POD_NAMES,
  REST_NAMES,
  REST_V2_NAMES,
  withPublicNames,
} from '@slipway/facades/plugins/public-names';
import t from 'tap';

const CASES: [text: string, rest: string, graphql: string][] = [
  [
    'workers_min is 4, but must not exceed workers_max',
    'workersMin is 4, but must not exceed workersMax',
    'workersMin is 4, but must not exceed workersMax',
  ],
  ['gpu_ids: "gpu_ids" is not known', 'gpuTypeIds: "gpu_ids" is not known', 'gpuIds: "gpu_ids" is not known'],
  ['start_command names no program', 'dockerStartCmd names no program', 'dockerArgs names no program'],
  ['size_gb is 5000: "a \\" size_gb"', 'size is 5000: "a \\" size_gb"', 'size is 5000: "a \\" size_gb"'],
  ['serverless is fixed', 'isServerless is fixed', 'isServerless is fixed'],
  ['entrypoint[0] is serverless', 'dockerEntrypoint[0] is serverless', 'entrypoint[0] is serverless'],
  [
    'start_time, 2026-01-02, must not be later than end_time',
    'startTime, 2026-01-02, must not be later than endTime',
    'start_time, 2026-01-02, must not be later than end_time',
  ],
  ['env: my_variable is longer', 'env: my_variable is longer', 'env: my_variable is longer'],
];

t.test('lists of data centres and types, which surfaces name differently', async (t) => {
  t.equal(withPublicNames('locations has 0 characters', REST_NAMES), 'dataCenterIds has 0 characters');
  t.equal(withPublicNames('gpu_type_ids has 0 characters', REST_NAMES), 'gpuTypeId has 0 characters');
  t.equal(withPublicNames('locations has 0 characters', GRAPHQL_NAMES), 'locations has 0 characters');
  t.equal(withPublicNames('locations has 0 characters', GRAPHQL_POD_NAMES), 'dataCenterId has 0 characters');
  t.equal(withPublicNames('gpu_ids: "x" is not known', GRAPHQL_POD_NAMES), 'gpuTypeId: "x" is not known');
});

t.test('REST v2, and parameters of the queue surface', async (t) => {
  t.equal(withPublicNames('model_aliases names one twice', REST_V2_NAMES), 'openai.aliases names one twice');
  t.equal(withPublicNames('start_time must be from 1970', REST_V2_NAMES), 'startTime must be from 1970');
  for (const [text, shown] of [
    [
      'submitted_from must be a time of the years 1970 to 9999',
      'submittedFrom must be a time of the years 1970 to 9999',
    ],
    ['page_token is none that a page of this list gave', 'cursor is none that a page of this list gave'],
    ['There is no job "page_token" on this endpoint.', 'There is no job "page_token" on this endpoint.'],
  ] as const)
    t.match(queueErrorShape({ text, status: 400, code: 'invalid_request', retryAfterSeconds: undefined }), {
      error: shown,
    });
});

t.test('both surfaces', async (t) => {
  for (const [text, rest, graphql] of CASES) {
    t.equal(withPublicNames(text, REST_NAMES), rest);
    t.equal(withPublicNames(text, GRAPHQL_NAMES), graphql);
  }
});
