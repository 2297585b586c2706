// test: postgres, 20 s
/**
 * Every rpc of the contract times every kind of key: which keys are accepted, which are rejected, and for which keys a
 * thing does not exist. Real core, real database. A new rpc fails this test until it has its row.
 */

import type { WatchRotationResponse } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { PipelineResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { ALERT_ROWS } from './scope-alert-rows.ts';
import { BATCH_ROWS } from './scope-batch-rows.ts';
import { JOIN_ROWS } from './scope-join-rows.ts';
import { MODEL_ROWS } from './scope-model-rows.ts';
import { ROWS } from './scope-rows.ts';
import type { Asked } from './scope-world.ts';
import { any, core, GONE, KEYS, NO, OK, RULES, rpcs, USELESS } from './scope-world.ts';

t.setTimeout(600_000);

const ALL_ROWS = [...ROWS, ...MODEL_ROWS, ...BATCH_ROWS, ...JOIN_ROWS, ...ALERT_ROWS];

t.test('every rpc has its row', async (t) => {
  t.ok(rpcs.size > 50);
  t.same([...new Set(ALL_ROWS.map(([rpc]) => rpc))].sort(), [...rpcs.keys()].sort());
});

for (const [index, [rpc, rule, ask]] of ALL_ROWS.entries()) {
  t.test(`${rpc} (row ${index + 1}): ${rule}`, async (t) => {
    // A rejected call changes nothing, so one thing serves all of them.
    const asked = await ask('');
    const keys = await Promise.all(
      [...Object.entries(USELESS), ...KEYS].map(async ([who, given], index) => ({
        who,
        given,
        secret: typeof given === 'string' ? given : await given(asked.endpointId ?? ''),
        wanted: wantedOf(rule, index),
      })),
    );
    const before = await changes();
    for (const { who, secret, wanted } of keys.filter(({ wanted }) => wanted !== OK)) {
      carry(asked.request, secret);
      t.equal(await answer(rpc, asked, secret), wanted, who);
    }
    t.equal(await changes(), before, 'no rejected call changes anything');
    for (const { who, given, secret } of keys.filter(({ wanted }) => wanted === OK)) {
      const own = await ask(typeof given === 'string' ? given : '');
      // A key for one endpoint is about the endpoint that its call names.
      const key = typeof given === 'string' ? secret : await given(own.endpointId ?? '');
      carry(own.request, key);
      t.equal(await answer(rpc, own, key), OK, who);
    }
  });
}

/** Returns what a call gives for one of the keys: first the useless ones, then the columns of the rules. */
function wantedOf(rule: keyof typeof RULES, index: number): string {
  const useless = Object.values(USELESS);
  if (index >= useless.length) return RULES[rule][index - useless.length]!;
  return rule === 'anybody' || (rule === 'public' && useless[index] === '') ? OK : NO;
}

/** Puts a key into calls that carry it themselves. */
function carry(request: object, apiKey: string): void {
  for (const [field, parts] of Object.entries(request)) {
    if (['calls', 'demands', 'endpoints'].includes(field))
      for (const part of parts as { apiKey: string }[]) part.apiKey = apiKey;
  }
}

/** Returns the result of a call: OK, NO, GONE, or the reason and the text of any other failure. */
async function answer(rpc: string, { request }: Asked, secret: string): Promise<string> {
  try {
    const response = await any.call(rpcs.get(rpc)!, request, secret);
    const reply = 'replies' in response ? (response as PipelineResponse).replies[0]!.reply : undefined;
    const refusal = 'refusals' in response ? (response as WatchRotationResponse).refusals[0] : undefined;
    if (refusal) return kindOf(refusal.reason, '');
    return reply?.$case === 'error' ? kindOf(reply.value.reason, reply.value.message) : OK;
  } catch (error) {
    if (error instanceof CoreError) return kindOf(error.reason, error.message);
    throw error;
  }
}

function kindOf(reason: string, message: string): string {
  if (reason === 'UNAUTHORIZED') return NO;
  // RotateSecretKey: the caller was admitted, and this core was given no other key to rotate to.
  if (reason === 'IN_USE' && message.startsWith('Core has one secret key')) return OK;
  return /(^|_)NOT_FOUND$/.test(reason) ? GONE : `${reason}: ${message}`;
}

/** Returns the number of changes so far: audited changes and jobs. */
async function changes(): Promise<string> {
  const [row] = await core.sql`
    SELECT (SELECT count(*) FROM audit_event WHERE refused = '') AS audited, (SELECT count(*) FROM job) AS jobs,
      (SELECT count(*) FROM price) AS prices,
      (SELECT count(*) FROM machine) AS machines`;
  return JSON.stringify(row);
}
