/**
 * Compiles documents that come again and again to plain functions: walking a list of 1,000 endpoints field by field
 * costs ten times as much. An Envelop plugin of the mesh, so everything around the execution stays as it is. What is
 * not compiled runs on graphql-js, which answers the fields in the order in which they were asked for; Mesh's own
 * executor does not. Fields without a resolver must hold plain values: a compiled document awaits and calls only
 * resolvers.
 */

import type { DocumentNode, ExecutionArgs } from 'graphql';
import { execute, getOperationAST, OperationTypeNode } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { selectsField } from './root-fields.ts';

/**
 * Times that a document runs before it is compiled, which costs more than one run: clients that write values into it
 * never repeat it.
 */
const USES_BEFORE = 2;
/** Operations of one document that are compiled: with fragments a short document has hundreds of large ones. */
const OPERATIONS_MAX = 3;

/** Facts about a document. The executor caches documents; their facts are dropped with them. */
interface Uses {
  count: number;
  /** Compiled reads by operation name. `undefined` if the operation cannot be compiled. */
  compiled: Map<string, CompiledQuery | undefined>;
}

/** Arguments that Envelop passes to a plugin before it executes. */
interface Execution {
  args: ExecutionArgs;
  setExecuteFn(execute: (args: ExecutionArgs) => unknown): void;
}

/** Returns the plugin. */
export function compileReads(): { onExecute(execution: Execution): void } {
  const known = new WeakMap<DocumentNode, Uses>();
  return {
    onExecute({ args, setExecuteFn }) {
      const uses = known.get(args.document) ?? { count: 0, compiled: new Map() };
      known.set(args.document, uses);
      uses.count += 1;
      const compiled =
        uses.count > USES_BEFORE && !selectsField(args.document, 'env') ? compiledOf(uses, args) : undefined;
      setExecuteFn(compiled ? (execution) => runCompiled(compiled, execution) : execute);
    },
  };
}

function runCompiled(compiled: CompiledQuery, execution: ExecutionArgs): unknown {
  const { rootValue, contextValue, variableValues } = execution;
  const result = compiled.query(rootValue, contextValue, variableValues ?? {});
  // The variables do not fit, so nothing ran. graphql-js reports that as it does for documents that are not compiled.
  return 'errors' in result && !('data' in result) ? execute(execution) : result;
}

function compiledOf({ compiled }: Uses, { schema, document, operationName }: ExecutionArgs): CompiledQuery | undefined {
  const name = operationName ?? '';
  if (!compiled.has(name) && compiled.size < OPERATIONS_MAX) {
    // Compiled code would set the prototype of an object instead of a field of this name.
    const isPlain = !document.loc?.source.body.includes('__proto__');
    const reads = isPlain && getOperationAST(document, operationName)?.operation === OperationTypeNode.QUERY;
    const result = reads
      ? compileQuery(schema, document, operationName ?? undefined, { disablingCapturingStackErrors: true })
      : undefined;
    compiled.set(name, result && isCompiledQuery(result) ? result : undefined);
  }
  return compiled.get(name);
}

export default [compileReads()];
