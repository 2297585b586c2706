/**
 * Accepts enum words in documents with and without quotes. The hosted service accepts both, and clients that build
 * documents as text write `flashBootType: "FLASHBOOT"`. In variables there is only one form. Unknown words are still
 * rejected.
 */

import type { GraphQLSchema, ValueNode } from 'graphql';
import { isEnumType, isIntrospectionType, Kind } from 'graphql';

/** Lets all enums of our inputs read words in quotes. Changes the schema in place. */
export function takeQuotedWords(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isEnumType(type) || isIntrospectionType(type)) continue;
    const parseLiteral = type.parseLiteral.bind(type);
    type.parseLiteral = (node, variables) => parseLiteral(asWord(node), variables);
  }
}

function asWord(node: ValueNode): ValueNode {
  return node.kind === Kind.STRING ? { kind: Kind.ENUM, value: node.value } : node;
}
