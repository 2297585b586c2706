/** Documents of requests: parses, checks and caches them, and makes them ready to run on the mesh. */
import type { MeshInstance } from '@graphql-mesh/runtime';
import type { Clock } from '@slipway/kit/time/clock';
import type { DocumentNode, ExecutionResult } from 'graphql';
import { GraphQLError, getOperationAST, OperationTypeNode, parse, specifiedRules, validate } from 'graphql';
import { LRUCache } from 'lru-cache';
import { answerTooLong } from './answer-text.ts';
import { hasTooManyVariables } from './answer-variables.ts';
import { boundsRule, ERRORS_MAX, hasTooManyLines, LINES_MAX, TOKENS_MAX } from './bounds.ts';
import { needsNoKey, rejectForeignFields } from './foreign-fields.ts';
import { InvalidDocument } from './invalid-document.ts';
import type { LargeReadCaller } from './large-reads.ts';
import { LargeRead, largeReads } from './large-reads.ts';
import { isPublic, selectsField } from './root-fields.ts';

/** An authorized request. */
export interface GraphqlRequest {
  query: string;
  variables: Record<string, unknown> | undefined;
  operationName: string | undefined;
}

/** The caller. */
interface GraphqlCaller extends LargeReadCaller {
  apiKey: string;
}

/** A valid document, ready to run. */
export interface PreparedOperation {
  /** Whether it changes nothing. */
  reads: boolean;
  /** Whether it reads nothing of an account and needs no key. */
  isPublic: boolean;
  /** Runs it. Errors of fields are part of the result. */
  run(caller: GraphqlCaller): Promise<ExecutionResult>;
}

/**
 * Most cached documents, and most characters of all of them, because their memory grows with these. The least recently
 * used one is dropped first.
 */
const DOCUMENTS_MAX = 500;
const DOCUMENT_CHARACTERS_MAX = 300_000;

export class Documents {
  readonly #mesh: MeshInstance;
  readonly #clock: Clock;
  readonly #documents = new LRUCache<string, DocumentNode>({
    max: DOCUMENTS_MAX,
    maxSize: DOCUMENT_CHARACTERS_MAX,
    sizeCalculation: (_, text) => text.length,
  });
  readonly #largeReads = largeReads();

  constructor(mesh: MeshInstance, clock: Clock) {
    this.#mesh = mesh;
    this.#clock = clock;
  }

  /** Parses and validates a document. Throws InvalidDocument. */
  prepare(request: GraphqlRequest): PreparedOperation {
    const mesh = this.#mesh;
    const { query, variables: variableValues, operationName } = request;
    const known = this.#documents.get(query);
    const parsed = known ?? parsedWithinBounds(query, mesh.schema);
    const foreign = known ? undefined : rejectForeignFields(parsed, operationName);
    if (foreign) return { reads: false, isPublic: needsNoKey(parsed, operationName), run: async () => foreign };
    const document = known ?? this.#check(query, parsed, mesh.schema);
    const reads = operationOf(document, operationName) === OperationTypeNode.QUERY;
    return {
      isPublic: isPublic(document, operationName),
      reads,
      run: async (caller) => {
        const { apiKey, accountId } = caller;
        const large = new LargeRead(this.#largeReads, caller, this.#clock);
        const context = {
          apiKey,
          accountId,
          nowMs: this.#clock.nowMs(),
          selectsEnv: selectsField(document, 'env'),
          variables: { bytes: 0 },
          turn: turns(this.#clock),
          reads: new Map(),
          large,
        };
        const { schema, execute, contextFactory } = mesh.getEnveloped(context);
        try {
          const contextValue = await contextFactory();
          const args = { schema, document, contextValue, variableValues, operationName };
          const result = (await execute(args)) as ExecutionResult;
          // A mutation has taken effect already, so only queries are refused.
          if (reads && hasTooManyVariables(context.variables)) throw answerTooLong();
          return result;
        } finally {
          large.leave();
        }
      },
    };
  }

  #check(query: string, document: DocumentNode, schema: MeshInstance['schema']): DocumentNode {
    const errors = validate(schema, document, specifiedRules, { maxErrors: ERRORS_MAX });
    if (errors.length > 0) throw new InvalidDocument(errors);
    this.#documents.set(query, document);
    return document;
  }
}

/** Returns the parsed document. Throws InvalidDocument if it is malformed or too large. */
function parsedWithinBounds(query: string, schema: MeshInstance['schema']): DocumentNode {
  // An error with a location would count all of these lines.
  if (hasTooManyLines(query))
    throw new InvalidDocument([new GraphQLError(`The document has more than ${LINES_MAX} lines.`)]);
  try {
    const document = parse(query, { maxTokens: TOKENS_MAX });
    // Checked first, because the other rules cost more for larger documents.
    const faults = validate(schema, document, [boundsRule]);
    if (faults.length > 0) throw new InvalidDocument(faults);
    return document;
  } catch (error) {
    if (error instanceof GraphQLError) throw new InvalidDocument([error]);
    // The parser is recursive.
    if (error instanceof RangeError) throw new InvalidDocument([new GraphQLError('The document is nested too deep.')]);
    throw error;
  }
}

/** Returns the type of the selected operation. Throws InvalidDocument if none, or more than one, matches. */
function operationOf(document: DocumentNode, operationName: string | undefined): OperationTypeNode {
  const found = getOperationAST(document, operationName)?.operation;
  if (found === undefined) {
    const text =
      operationName === undefined
        ? 'The document has several operations: say which by operationName.'
        : `The document has no operation named ${JSON.stringify(operationName.slice(0, 64))}.`;
    throw new InvalidDocument([new GraphQLError(text)]);
  }
  if (found === OperationTypeNode.SUBSCRIPTION)
    throw new InvalidDocument([new GraphQLError('There are no subscriptions.')]);
  return found;
}

/** Returns a function whose calls resolve one after another, each in another tick of the event loop. */
function turns(clock: Clock): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => new Promise((resolve) => clock.soon(resolve)));
    return last;
  };
}
