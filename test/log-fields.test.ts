/** Each line of the log carries the ids of what its sentence is about: every call of a logger is read, not a sample of them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');
const LEVELS = /^(trace|debug|info|warn|error|fatal)$/;

/** What spreads bring, by their last name. */
const SPREADS: Record<string, string[]> = {
  ref: ['endpointId', 'jobId', 'attempt', 'workerId'],
  'refOf()': ['endpointId', 'jobId', 'attempt', 'machineId'],
  'someAttempts()': ['listed'],
  'someWorkers()': ['listed'],
  attempt: ['endpointId', 'jobId', 'attempt', 'machineId'],
};

/** A word of a sentence, and ids of which a line with it has one. A line about many has their list. */
const WORDS: [word: RegExp, ids: string[]][] = [
  [/\b(attempts?|outcomes?|claims?|result)\b/, ['attempt', 'listed', 'ids', 'ref']],
  [/\b(jobs?|webhook)\b/, ['jobId', 'listed', 'ids', 'ref']],
  [/\bworkers?\b/, ['workerId', 'listed', 'ids', 'machineId']],
  [/\b(pods?)\b/, ['podId']],
  // Calls of workers have no id of a request: they are known by their worker.
  [/\b(?<!bridge )(request|call failed|call ended)\b/, ['requestId', 'ids']],
];

interface Line { place: string; message: string; fields: string[] }

/** Every call of a logger with a sentence. */
function linesOf(file: string): Line[] {
  const tree = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: Line[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && LEVELS.test(node.expression.name.text)
      && /logger$/i.test(node.expression.expression.getText(tree))) {
      const place = `${file}:${tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1}`;
      for (const message of node.arguments.flatMap(sentencesOf)) found.push({ place, message, fields: fieldsOf(node.arguments[0], tree) });
    }
    ts.forEachChild(node, look);
  };
  look(tree);
  return found;
}

function sentencesOf(node: ts.Expression): string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  return ts.isConditionalExpression(node) ? [node.whenTrue, node.whenFalse].flatMap(sentencesOf) : [];
}

function fieldsOf(node: ts.Expression | undefined, tree: ts.SourceFile): string[] {
  if (!node || !ts.isObjectLiteralExpression(node)) return [];
  return node.properties.flatMap((property) => {
    if (!ts.isSpreadAssignment(property)) return [property.name!.getText(tree)];
    const name = property.expression.getText(tree).replace(/\(.*\)$/s, '()').split('.').at(-1)!;
    return SPREADS[name] ?? [name];
  });
}

const files = execFileSync('git', ['ls-files', 'core', 'facades', 'gpu-agent'], { cwd: root, encoding: 'utf8' })
  .split('\n').filter((file) => file.endsWith('.ts') && !file.startsWith('facades/console/web/'));
const lines = files.flatMap(linesOf);

/** Sentences with such a word that are about no single one, or are said before it is known, or of what is no more. */
const ABOUT_NONE = new Set<string>([
  // Nothing was claimed.
  'claim failed, will try again', 'jobs were not handed over ahead',
  // Lists of ids by what was done with them, and a count of rows.
  'workers changed', 'jobs of a deleted endpoint removed',
  // A machine as a whole.
  'workers may lose what they send now', 'the agent is not root: workers in containers can reach programs of this host',
  'no tunnel, will try again: facades cannot reach the workers of this machine by it', 'workers run as users of their own',
  'workers run as the agent\'s own user: only an agent that runs as root can give them another',
]);

t.test('a line about an attempt, a job, a worker, a pod or a request carries its id', async (t) => {
  t.ok(lines.length > 100, 'the calls were found');
  for (const { place, message, fields } of lines) {
    if (ABOUT_NONE.has(message)) continue;
    for (const [word, ids] of WORDS) {
      if (word.test(message)) t.ok(ids.some((id) => fields.includes(id)), `${place} "${message}" has ${ids.join(' or ')}: ${fields.join()}`);
    }
  }
});

t.test('ids stand together: a job is found by its endpoint, an attempt by its job', async (t) => {
  for (const { place, fields } of lines) {
    if (fields.includes('jobId')) t.ok(fields.includes('endpointId'), `${place} has jobId, so endpointId too`);
    if (fields.includes('workerId') && place.startsWith('gpu-agent/units/')) t.ok(fields.includes('endpointId'), `${place} has workerId, so endpointId too`);
    if (fields.includes('attempt')) t.ok(fields.includes('jobId'), `${place} has attempt, so jobId too`);
  }
});

t.test('what is excused is said somewhere', async (t) => {
  for (const message of ABOUT_NONE) t.ok(lines.some((line) => line.message === message), message);
});
