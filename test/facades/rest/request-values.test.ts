/** Bodies and queries of the REST surface as values for their schemas, over HTTP as clients send them. */

import { VALUES_MAX } from '@slipway/facades/plugins/bodies/json-body';
import { BodyWork } from '@slipway/facades/plugins/limits/body-work';
import { oneOf } from '@slipway/facades/resources/one-of';
import { optional } from '@slipway/facades/resources/optional';
import { nameIgnored } from '@slipway/facades/rest/name-ignored';
import { readJson } from '@slipway/facades/rest/read-json';
import { readQuery } from '@slipway/facades/rest/read-query';
import { systemClock } from '@slipway/kit/time/clock';
import { fastify } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';

const app = fastify();
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.decorateRequest('caller');
app.addHook('onRequest', async (request) => {
  request.caller = { apiKey: 'key', accountId: 'account', workersRunning: 0 };
});
app.post(
  '/body',
  { preValidation: readJson(new BodyWork(1_000_000, systemClock), nameIgnored([])) },
  async (request) => request.body,
);
const Query = Type.Object({ flag: Type.Boolean(), list: Type.Array(Type.String()), text: Type.String() });
app.get('/query', { preValidation: readQuery(Query) }, async (request) => request.query);
t.teardown(() => app.close());

async function body(payload: string): Promise<{ status: number; json: unknown }> {
  const answer = await app.inject({ method: 'POST', url: '/body', payload, headers: { 'content-type': 'text/plain' } });
  return { status: answer.statusCode, json: answer.json() };
}

t.test('null counts as absent, at the top level only', async (t) => {
  t.same((await body('{"a":null,"b":{"c":null},"d":[null],"e":0,"f":""}')).json, {
    b: { c: null },
    d: [null],
    e: 0,
    f: '',
  });
});

t.test('escapes', async (t) => {
  for (const text of [
    '\\ud83d\\ude00',
    '\u{1f600}',
    '\\\\ud800',
    '\\\\u0000',
    '\\n\\t\\"',
    '\\u0001',
    '\\u00e9\\ud83d\\ude00\\u00e9',
  ]) {
    t.same((await body(`{"a":"${text}"}`)).json, JSON.parse(`{"a":"${text}"}`), text);
  }
  for (const text of [
    '\\ud83d',
    '\\ude00',
    '\\ud83d x\\ude00',
    '\\ud83d\\ud83d\\ude00',
    '\\\\\\ud800',
    '\\u0000',
    'a\\u0041\\u0000',
  ]) {
    t.not((await body(`{"a":"${text}"}`)).status, 200, text);
  }
});

t.test('the number of values is bounded before any of them is made', async (t) => {
  const list = (length: number): string => JSON.stringify({ a: new Array(length).fill(0) });
  t.equal((await body(list(VALUES_MAX - 2))).status, 200, 'the object and the list count too');
  const { json } = await body(list(VALUES_MAX - 1));
  t.match(json, { message: /has 10001 values, but may have 10000/ });
});

t.test('queries', async (t) => {
  const query = async (text: string): Promise<unknown> => (await app.inject({ url: `/query?${text}` })).json();
  t.same(await query('flag=true&list=a&text=true'), { flag: true, list: ['a'], text: 'true' });
  t.same(await query('flag=false&list=a&list=b&other=true'), { flag: false, list: ['a', 'b'], other: 'true' });
  t.same(await query('list[]=a&list%5B%5D=b'), { list: ['a', 'b'] }, 'as many clients write lists');
  t.same(await query('list=a&list[]=b&list[]=c'), { list: ['a', 'b', 'c'] });
  t.same(await query('list[]=b&list=a'), { list: ['a', 'b'] });
  t.same(await query('text[]=a&flag[]=true'), { 'text[]': 'a', 'flag[]': 'true' }, 'these are no lists');
  t.same(await query('flag=1&list='), { flag: '1', list: [''] }, 'the schema refuses what is none');
});

t.test('an optional member allows null', async (t) => {
  const shape = Type.Object({
    a: optional(Type.Integer({ minimum: 1 })),
    b: optional(oneOf(['x', 'y'])),
    c: Type.String(),
  });
  t.match(JSON.parse(JSON.stringify(shape)), {
    required: ['c'],
    properties: {
      a: { type: 'integer', minimum: 1, nullable: true },
      b: { enum: ['x', 'y', null], nullable: true },
      c: { type: 'string' },
    },
  });
  const word = oneOf(['x']);
  optional(word);
  t.notOk('nullable' in word, 'the schema that was handed in stays as it was');
});
