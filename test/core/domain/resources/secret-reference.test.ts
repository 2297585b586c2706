/** References to secrets in environments: what counts as one, and what takes its place. */
import type { SecretRefusalKind, SecretValue } from '@slipway/core/domain/resources/secret-reference';
import {
  RESOLVED_ENV_BYTES_MAX,
  resolveSecrets,
  secretNamesOf,
  secretRefusalChange,
  secretRefusalText,
} from '@slipway/core/domain/resources/secret-reference';
import t from 'tap';

const VALUES: Record<string, SecretValue> = {
  pw: 's3cret',
  'a/b-c.d': 'path',
  money: '$& $1 $$',
  again: '{{ RUNPOD_SECRET_pw }}',
  broken: { unreadable: true },
};
const resolve = (env: Record<string, string>, foreign: string[] = []) =>
  resolveSecrets({ env, foreign }, (name) => VALUES[name]);

t.test('values take the place of references', async (t) => {
  const env = {
    WHOLE: '{{ RUNPOD_SECRET_pw }}',
    TIGHT: '{{RUNPOD_SECRET_pw}}',
    WIDE: '{{  \tRUNPOD_SECRET_pw \n}}',
    INSIDE: 'postgres://me:{{ RUNPOD_SECRET_pw }}@db/{{ RUNPOD_SECRET_a/b-c.d }}',
    DOLLARS: '{{ RUNPOD_SECRET_money }}',
    ONCE: '{{ RUNPOD_SECRET_again }}',
  };
  t.same(resolve(env), {
    env: {
      WHOLE: 's3cret',
      TIGHT: 's3cret',
      WIDE: 's3cret',
      INSIDE: 'postgres://me:s3cret@db/path',
      DOLLARS: '$& $1 $$',
      ONCE: '{{ RUNPOD_SECRET_pw }}',
    },
  });
  t.same(secretNamesOf(env), ['a/b-c.d', 'again', 'money', 'pw']);
});

t.test('other braces stay as they are', async (t) => {
  const env = {
    A: '{{ RUNPOD_POD_ID }}',
    B: '{ RUNPOD_SECRET_pw }',
    C: '{{ runpod_secret_pw }}',
    D: '{{ RUNPOD_SECRET_',
  };
  t.same(resolve(env), { env });
  t.same(secretNamesOf(env), []);
});

t.test('the first reason why a variable has no value', async (t) => {
  const rest = { FINE: '{{ RUNPOD_SECRET_pw }}' };
  t.same(resolve({ ...rest, TOKEN: 'x {{ RUNPOD_SECRET_my token }}', LATER: '{{ RUNPOD_SECRET_ }}' }), {
    env: { FINE: 's3cret' },
    refusal: { kind: 'SECRET_UNKNOWN', secret: 'my token', variable: 'TOKEN' },
  });
  t.match(resolve({ KEY: '{{ RUNPOD_SECRET_broken }}' }).refusal, { kind: 'SECRET_UNREADABLE', secret: 'broken' });
  t.match(
    resolve({ ...rest, OTHERS: '{{ RUNPOD_SECRET_pw }}' }, ['OTHERS']),
    { env: { FINE: 's3cret' }, refusal: { kind: 'SECRET_OF_FOREIGN_TEMPLATE', secret: 'pw', variable: 'OTHERS' } },
    'a template of another account gets none',
  );
  t.same(resolve({ PLAIN: 'x' }, ['PLAIN']), { env: { PLAIN: 'x' } });
});

t.test('values must fit into an environment', async (t) => {
  const env = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`V${at}`, '{{ RUNPOD_SECRET_big }}']));
  const big = 'x'.repeat(RESOLVED_ENV_BYTES_MAX / 4);
  const { refusal, env: none } = resolveSecrets({ env, foreign: [] }, () => big);
  t.match(refusal, { kind: 'ENV_TOO_LARGE' });
  t.same(none, {});
  const plain = { ONE: 'x'.repeat(RESOLVED_ENV_BYTES_MAX) };
  t.same(resolveSecrets({ env: plain, foreign: [] }, () => '').env, plain, 'others have their own limit');
});

t.test('every reason has a text and a remedy without a value', async (t) => {
  const kinds: Record<SecretRefusalKind, true> = {
    SECRET_UNKNOWN: true,
    SECRET_UNREADABLE: true,
    SECRET_OF_FOREIGN_TEMPLATE: true,
    ENV_TOO_LARGE: true,
  };
  for (const kind of Object.keys(kinds) as SecretRefusalKind[]) {
    const refusal = { kind, secret: 'hf', variable: 'HF_TOKEN' };
    t.match(
      secretRefusalText(refusal),
      kind === 'ENV_TOO_LARGE' ? /262144 bytes/ : /"hf".*HF_TOKEN|HF_TOKEN.*"hf"/,
      kind,
    );
    t.not(secretRefusalChange(refusal), '');
  }
  t.equal(
    secretRefusalText({ kind: 'SECRET_UNKNOWN', secret: 'x'.repeat(1_000), variable: 'V' }).length < 300,
    true,
    'a long name is cut',
  );
});

t.test('a long text without an end is read once', async (t) => {
  const env = { A: '{{ RUNPOD_SECRET_'.repeat(7_000), B: `{{ RUNPOD_SECRET_${' '.repeat(130_000)}` };
  t.same(secretNamesOf(env), []);
});
