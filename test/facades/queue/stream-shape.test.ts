/** Which shape /stream answers with (docs/reference/api.md#stream). */

import { chooseStreamShape, wantsEvents } from '@slipway/facades/queue/stream-shape';
import t from 'tap';
import { reasonOf } from '../reason-of.ts';

const CURL = { format: undefined, setting: 'auto', method: 'GET', contentType: '' } as const;

t.test('the array by default, the object for SDKs', async (t) => {
  t.equal(chooseStreamShape(CURL), 'array');
  for (const contentType of ['application/json', 'Application/JSON; charset=utf-8', 'application/problem+json']) {
    t.equal(chooseStreamShape({ ...CURL, contentType }), 'object', contentType);
  }
  for (const contentType of ['text/plain', 'application/jsonlines', 'application/x-www-form-urlencoded']) {
    t.equal(chooseStreamShape({ ...CURL, contentType }), 'array', contentType);
  }
  t.equal(chooseStreamShape({ ...CURL, method: 'POST' }), 'object');
});

t.test('the operator may settle it', async (t) => {
  t.equal(chooseStreamShape({ ...CURL, setting: 'sdk' }), 'object');
  t.equal(chooseStreamShape({ ...CURL, setting: 'seed', contentType: 'application/json', method: 'POST' }), 'array');
});

t.test('the request itself wins', async (t) => {
  t.equal(chooseStreamShape({ ...CURL, format: 'object', setting: 'seed' }), 'object');
  t.equal(chooseStreamShape({ ...CURL, format: 'array', setting: 'sdk', contentType: 'application/json' }), 'array');
  for (const format of ['list', 'ARRAY', ['array', 'object']])
    t.equal(
      reasonOf(() => chooseStreamShape({ ...CURL, format })),
      'INVALID_REQUEST',
    );
});

t.test('event streams are requested by name', async (t) => {
  for (const accept of ['text/event-stream', 'application/json, text/event-stream;q=0.9', 'TEXT/EVENT-STREAM'])
    t.ok(wantsEvents(accept), accept);
  for (const accept of [undefined, '', '*/*', 'application/json', 'text/event-streams'])
    t.notOk(wantsEvents(accept), String(accept));
});
