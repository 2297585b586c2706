/** The comment of a function says what it does: it begins with a verb. */
import t from 'tap';
import ts from 'typescript-api';
import { sources, treeOf } from './project-files.ts';

/** Verbs in the third person. Called: for functions that others provide. Methods of HTTP: for handlers of routes. */
const VERB = /^(?:[A-Z][A-Za-z]*s|Called|Never|GET|POST|PATCH|DELETE)\b/;
/** Plural nouns with which comments began. */
const NOUNS = new RegExp(
  '^(?:Agents|Bytes|Clients|Columns|Contents|Events|Fields|GPUs|Handlers|Headers|Its|Jobs|Members|Milliseconds|' +
    'Messages (?:of|to)|Names (?:of|and|have)|Options|Pods|Resolvers|References|Services|Strings|This|' +
    'Times (?:at|of)|Values|Variables|Workers|Words)\\b',
);

/** Returns the first line of a function's comment. `undefined` if it has none. */
function commentOf(node: ts.Node): string | undefined {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  return comment && ts.getTextOfJSDocComment(comment.comment)?.split('\n')[0];
}

/** Returns comments in a file that begin with no verb. */
function faultsIn(file: string): string[] {
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) && node.body) {
      const comment = commentOf(node);
      if (comment !== undefined && (!VERB.test(comment) || NOUNS.test(comment))) faults.push(`${file}: ${comment}`);
    }
    node.forEachChild(visit);
  };
  visit(treeOf(file));
  return faults;
}

t.test('comments of functions begin with a verb', async (t) => {
  // Components of the console are things: a button, a table.
  const checked = sources.filter((file) => file.endsWith('.ts') && !/\.(config|d)\.ts$/.test(file));
  t.ok(checked.length > 1_000, `${checked.length} files`);
  t.same(checked.flatMap(faultsIn), [], 'write what it does: Returns …, Records …, Throws …');
});
