/** Each log line carries the ids of what its sentence is about. Every call of a logger is checked, not a sample. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript-api';

const root = join(import.meta.dirname, '..');
const LEVELS = /^(trace|debug|info|warn|error|fatal)$/;
/** A call of a logger, as it stands in a text. */
const CALL = /logger\s*[?!]?\.\s*(trace|debug|info|warn|error|fatal)\s*\(/i;

t.setTimeout(600_000);

/** Fields that come from spread values which no object literal of the file shows. */
const SPREADS: Record<string, string[]> = {
  ref: ['endpointId', 'jobId', 'attempt', 'workerId'],
  attempt: ['endpointId', 'jobId', 'attempt', 'machineId'],
  'refOf()': ['endpointId', 'jobId', 'attempt', 'machineId'],
  'webhookOf()': ['endpointId', 'jobId', 'webhookId'],
  'idsOf()': ['requestId', 'endpointId', 'jobId'],
  'someAttempts()': ['listed'],
  'someWorkers()': ['listed'],
  // A worker.
  'this.ids': ['endpointId', 'workerId'],
  // A worker or a pod.
  'this.#kind.ids': ['endpointId', 'workerId', 'podId'],
};

/** A word of a sentence, and ids: a line with it has all ids of one list. A line about many has theirs. */
const WORDS: [word: RegExp, ids: string[][]][] = [
  [
    /\b(attempts?|outcomes?|claims?|result)\b/,
    [['endpointId', 'jobId', 'attempt', 'workerId'], ['endpointId', 'jobId', 'attempt', 'machineId'], ['listed']],
  ],
  [/\b(jobs?|webhook)\b/, [['endpointId', 'jobId'], ['listed']]],
  [/\bworkers?\b/, [['endpointId', 'workerId'], ['machineId'], ['listed']]],
  [/\b(pods?)\b/, [['podId']]],
  // Calls of workers have no id of a request: they are known by their worker.
  [/(?<!bridge )\brequest\b(?! to a load)/, [['requestId', 'endpointId', 'jobId']]],
  [/\brequest to a load-balancing\b/, [['requestId', 'endpointId']]],
  [/\b(call failed|call ended)\b/, [['requestId']]],
];

interface Line {
  place: string;
  message: string;
  fields: string[];
}

/** Every call of a logger with a sentence. */
function linesOf(file: string): Line[] {
  const text = readFileSync(join(root, file), 'utf8');
  // Parsing all files takes seconds, and most of them log nothing.
  if (!CALL.test(text)) return [];
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Line[] = [];
  const look = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      LEVELS.test(node.expression.name.text) &&
      /logger$/i.test(node.expression.expression.getText(tree))
    ) {
      const place = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
      for (const message of node.arguments.flatMap(sentencesOf))
        found.push({ place, message, fields: fieldsOf(node.arguments[0], tree) });
    }
    ts.forEachChild(node, look);
  };
  look(tree);
  return found;
}

function sentencesOf(node: ts.Expression): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [[node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…')];
  return ts.isConditionalExpression(node) ? [node.whenTrue, node.whenFalse].flatMap(sentencesOf) : [];
}

/** Names of the members of an object, or of one that a variable of the file has. */
function fieldsOf(node: ts.Expression | undefined, tree: ts.SourceFile): string[] {
  if (!node || !ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((property) =>
    ts.isSpreadAssignment(property) ? spreadOf(property.expression, tree) : [property.name!.getText(tree)],
  );
}

function spreadOf(node: ts.Expression, tree: ts.SourceFile): string[] {
  if (ts.isParenthesizedExpression(node)) return spreadOf(node.expression, tree);
  // `call && idsOf(call)`: nothing where there is nothing.
  if (ts.isBinaryExpression(node)) return spreadOf(node.right, tree);
  const whole = node.getText(tree).replace(/\(.*\)$/s, '()');
  const name = whole.split('.').at(-1)!;
  if (SPREADS[whole] ?? SPREADS[name]) return SPREADS[whole] ?? SPREADS[name]!;
  const value = ts.isIdentifier(node) ? lastBefore(node, tree) : undefined;
  if (!value) return [name];
  return ts.isObjectLiteralExpression(value) ? fieldsOf(value, tree) : spreadOf(value, tree);
}

/** Returns the initializer of a variable: of several with its name, the last one before it. */
function lastBefore(variable: ts.Identifier, tree: ts.SourceFile): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const look = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText(tree) === variable.text && node.end < variable.pos)
      found = node.initializer;
    ts.forEachChild(node, look);
  };
  look(tree);
  return found;
}

const files = execFileSync('git', ['ls-files', 'core', 'facades', 'gpu-agent'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file.endsWith('.ts') && !file.startsWith('facades/console/web/'));
const lines = files.flatMap(linesOf);

/**
 * Sentences with such a word that are about no single object, or that are logged before it is known or after it is
 * gone.
 */
const ABOUT_NONE = new Set<string>([
  // Nothing was claimed.
  'claim failed, will retry',
  'prefetch claim failed',
  // Lists of ids by what was done with them, and counts.
  'workers changed',
  'adopted workers and pods of the previous run',
  'jobs of a deleted endpoint removed',
  // A machine as a whole.
  'workers may lose data that they send now',
  'the agent is not root: workers in containers can reach programs of this host',
  'no tunnel, will try again: facades cannot reach the workers of this machine by it',
  'workers run as users of their own',
  "workers run as the agent's own user: only an agent that runs as root can give them another",
]);

/** Requests about no endpoint of their own. */
const OF_NO_ENDPOINT = new Set(['a GraphQL field failed']);

t.test('a line about an attempt, a job, a worker, a pod or a request carries all of its ids', async (t) => {
  t.ok(lines.length > 100, 'the calls were found');
  for (const { place, message, fields } of lines) {
    if (ABOUT_NONE.has(message)) continue;
    for (const [word, lists] of WORDS) {
      if (!word.test(message)) continue;
      const has = lists.some((ids) => ids.every((id) => fields.includes(id)));
      t.ok(has, `${place} "${message}" has ${lists.map((ids) => ids.join()).join(' or ')}: ${fields.join()}`);
    }
  }
});

t.test(
  'ids stand together: a job is found by its endpoint, an attempt by its job and by who runs it, a job by the ' +
    'request that made it',
  async (t) => {
    for (const { place, message, fields } of lines) {
      const has = (...ids: string[]): boolean => ids.some((id) => fields.includes(id));
      if (has('jobId')) t.ok(has('endpointId'), `${place} has jobId, so endpointId too`);
      if (has('jobId') && place.startsWith('facades/')) t.ok(has('requestId'), `${place} has jobId, so requestId too`);
      if (has('workerId'))
        t.ok(has('endpointId', 'machineId'), `${place} has workerId, so endpointId or machineId too`);
      if (has('attempt'))
        t.ok(
          has('jobId') && has('workerId', 'machineId'),
          `${place} has attempt, so jobId and workerId or machineId too`,
        );
      if (has('requestId') && place.startsWith('facades/') && !OF_NO_ENDPOINT.has(message))
        t.ok(has('endpointId'), `${place} has requestId, so endpointId too`);
    }
  },
);

t.test('every exception has its reason', async (t) => {
  for (const message of [...ABOUT_NONE, ...OF_NO_ENDPOINT])
    t.ok(
      lines.some((line) => line.message === message),
      message,
    );
});
