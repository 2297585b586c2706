/** Lists of pods in GraphQL: with variables, each pod is completed in a tick of its own. */
import { presentPods } from '@slipway/facades/graphql/pods/present-pod';
import t from 'tap';

const PODS = Array.from({ length: 5 }, (_, n) => ({ id: `pod${n}`, env: { A: `${n}` } }));
const WORKER = { id: 'worker', endpointId: 'endpoint', env: { A: 'hidden' } };

function contextOf(selectsEnv: boolean) {
  let turns = 0;
  return {
    context: {
      nowMs: 0,
      selectsEnv,
      variables: { bytes: 0 },
      turn: async (): Promise<void> => {
        turns += 1;
      },
    },
    turns: () => turns,
  };
}

t.test('with variables', async (t) => {
  const { context, turns } = contextOf(true);
  const presented = presentPods([...PODS, WORKER], context);
  t.ok(presented.every((pod) => pod instanceof Promise));
  t.equal(turns(), PODS.length + 1);
  t.match(await Promise.all(presented), [...PODS.map(({ id, env }) => ({ id, env: [`A=${env.A}`] })), { env: [] }]);
  t.ok(context.variables.bytes > 0, 'they are counted');
});

t.test('without variables', async (t) => {
  const { context, turns } = contextOf(false);
  t.match(
    presentPods(PODS, context),
    PODS.map(({ id }) => ({ id })),
  );
  t.equal(turns(), 0);
  t.equal(context.variables.bytes, 0);
});

t.test('more variables than fit into an answer', async (t) => {
  const { context } = contextOf(true);
  const long = { A: 'x'.repeat(33 * 1024 * 1024) };
  const present = () => presentPods([{ env: long }, { env: long }], context);
  t.throws(present, { message: /more than 64 MiB/ });
});
