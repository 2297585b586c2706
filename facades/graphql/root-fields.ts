/** Finds the root fields of a document, and fields by name. */

import type { DocumentNode, FieldNode } from 'graphql';
import { BREAK, getOperationAST, Kind, OperationTypeNode, visit } from 'graphql';

/** Fields that need no key, because they contain nothing of an account. */
const PUBLIC: ReadonlySet<string> = new Set(['gpuTypes', 'serverlessGpuPools', 'dataCenters', 'cpuFlavors']);

/**
 * Returns the root fields of the selected operation. `undefined` if it is ambiguous, or if it has fragments at its
 * root.
 */
export function rootFieldsOf(
  document: DocumentNode,
  operationName: string | undefined,
): readonly FieldNode[] | undefined {
  const selections = getOperationAST(document, operationName)?.selectionSet.selections;
  const fields = selections?.filter((selection) => selection.kind === Kind.FIELD);
  return fields?.length === selections?.length ? fields : undefined;
}

/** Returns whether the operation only reads fields that need no key. */
export function isPublic(document: DocumentNode, operationName: string | undefined): boolean {
  if (getOperationAST(document, operationName)?.operation !== OperationTypeNode.QUERY) return false;
  const fields = rootFieldsOf(document, operationName) ?? [];
  return fields.length > 0 && fields.every(({ name }) => PUBLIC.has(name.value));
}

/** Results of `selectsField` by field name: each document is searched once. */
const SELECTED = new WeakMap<DocumentNode, Map<string, boolean>>();

/** Returns whether a document selects a field of this name anywhere, in its operations or fragments. */
export function selectsField(document: DocumentNode, fieldName: string): boolean {
  const known = SELECTED.get(document) ?? new Map<string, boolean>();
  SELECTED.set(document, known);
  let isSelected = known.get(fieldName);
  if (isSelected !== undefined) return isSelected;
  isSelected = false;
  visit(document, {
    Field({ name }) {
      if (name.value !== fieldName) return undefined;
      isSelected = true;
      return BREAK;
    },
  });
  known.set(fieldName, isSelected);
  return isSelected;
}
