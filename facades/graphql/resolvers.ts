/** Mesh's `additionalResolvers`: the public fields over the raw calls of the contract, one part a resource. */
import { GraphQLScalarType } from 'graphql';
import { accountResolvers } from './account/account-resolvers.ts';
import { catalogResolvers } from './catalog/catalog-resolvers.ts';
import { endpointResolvers } from './endpoints/endpoint-resolvers.ts';
import { podResolvers } from './pods/pod-resolvers.ts';
import { registryAuthResolvers } from './registry-auths/registry-auth-resolvers.ts';
import { secretResolvers } from './secrets/secret-resolvers.ts';
import { templateResolvers } from './templates/template-resolvers.ts';
import { volumeResolvers } from './volumes/volume-resolvers.ts';

const PARTS: Record<string, object>[] = [
  accountResolvers,
  catalogResolvers,
  endpointResolvers,
  podResolvers,
  registryAuthResolvers,
  secretResolvers,
  templateResolvers,
  volumeResolvers,
];

/** Returns all fields of one type. */
function fieldsOf(type: string): object {
  return Object.assign({}, ...PARTS.map((part) => part[type]));
}

const types = new Set(PARTS.flatMap((part) => Object.keys(part)));

export default {
  Anything: new GraphQLScalarType({
    name: 'Anything',
    description: 'Any value; it is ignored.',
    serialize: () => null,
  }),
  Void: new GraphQLScalarType({ name: 'Void', description: 'Always null.', serialize: () => null }),
  ...Object.fromEntries([...types].map((type) => [type, fieldsOf(type)])),
};
