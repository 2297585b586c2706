/** Bounds the cost of a GraphQL document. Checked before any of it runs. */

import type { ASTVisitor, DocumentNode, FragmentDefinitionNode, SelectionSetNode, ValidationContext } from 'graphql';
import { GraphQLError, Kind } from 'graphql';

/** Most tokens in a document. */
export const TOKENS_MAX = 4_000;
/** Deepest nesting of selections; an introspection query needs 13. */
export const DEPTH_MAX = 15;
/**
 * Most fields and fragments, each counted again with every use of a fragment that holds it: fragments alone can
 * multiply without end.
 */
export const FIELDS_MAX = 1_000;
/**
 * Most lines of a document: all line ends before an error's location are counted. An introspection query has about 100
 * lines.
 */
export const LINES_MAX = 2_000;
/** Most errors that are reported for one document. */
export const ERRORS_MAX = 10;
/** Most root fields. Aliases multiply them. */
const ROOT_FIELDS_MAX = 20;

/** Returns whether the document has too many lines. */
export function hasTooManyLines(text: string): boolean {
  let lines = 1;
  for (let at = 0; at < text.length && lines <= LINES_MAX; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) lines += 1;
  }
  return lines > LINES_MAX;
}

/** Validates the bounds of a whole document. */
export function boundsRule(context: ValidationContext): ASTVisitor {
  return {
    Document(document: DocumentNode) {
      const fragments = new Map<string, FragmentDefinitionNode>();
      for (const node of document.definitions)
        if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
      for (const node of document.definitions) {
        if (node.kind !== Kind.OPERATION_DEFINITION) continue;
        const fault = faultOf(node.selectionSet, fragments);
        if (fault) context.reportError(new GraphQLError(fault, { nodes: node }));
      }
    },
  };
}

function faultOf(root: SelectionSetNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): string | undefined {
  let fields = 0;
  let rootFields = 0;
  // A list of work instead of recursion; a fragment that includes itself ends at the depth.
  const work: { set: SelectionSetNode; depth: number; atRoot: boolean; nested: number }[] = [
    { set: root, depth: 1, atRoot: true, nested: 0 },
  ];
  for (let next = work.pop(); next; next = work.pop()) {
    const { set, depth, atRoot, nested } = next;
    if (depth > DEPTH_MAX || nested > DEPTH_MAX) return `The document is nested more than ${DEPTH_MAX} deep.`;
    for (const node of set.selections) {
      fields += 1;
      if (fields > FIELDS_MAX) return `The document has more than ${FIELDS_MAX} fields and fragments.`;
      if (node.kind === Kind.FIELD) {
        rootFields += atRoot ? 1 : 0;
        if (rootFields > ROOT_FIELDS_MAX) return `The document has more than ${ROOT_FIELDS_MAX} fields at its top.`;
        if (node.selectionSet) work.push({ set: node.selectionSet, depth: depth + 1, atRoot: false, nested: 0 });
        continue;
      }
      const inner =
        node.kind === Kind.INLINE_FRAGMENT ? node.selectionSet : fragments.get(node.name.value)?.selectionSet;
      if (inner) work.push({ set: inner, depth, atRoot, nested: nested + 1 });
    }
  }
  return undefined;
}
