/** Checks that the comment of a function begins with a verb. */
import ts from 'typescript-api';
import { treeOf } from './project-files.ts';

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

/** Returns comments of functions in a file that begin with no verb. */
export function docstringFaults(file: string): string[] {
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
