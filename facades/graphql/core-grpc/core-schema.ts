/**
 * Writes the schema of core as a source of the mesh: a field for every call of the contract, with the directives that
 * Mesh's gRPC transport reads. Requests and answers are whole messages. The raw calls are not public. Typing and
 * resolving messages field by field here, and again in the public schema, would double the cost of every list.
 */

/** The name of the source. Resolvers find the calls under it in their context. */
export const SOURCE = 'Core';

/** Calls that only read begin with one of these verbs; they may be made again. All others are mutations. */
export const READS = /^(Get|List)/;

/** A namespace of a contract, as protobufjs writes it as JSON. */
interface Namespace {
  nested?: Readonly<Record<string, object>>;
  /** Methods, if it is a service. */
  methods?: Readonly<Record<string, { requestStream?: boolean; responseStream?: boolean }>>;
}

/** Returns the schema of the services in `contract`, which it contains. Calls that stream are left out. */
export function coreSchema(contract: Namespace): string {
  const calls = callsOf(contract, []);
  const root = `{ name: "contract", rootJson: ${JSON.stringify(JSON.stringify(contract))} }`;
  return [
    `schema @transport(subgraph: "${SOURCE}", options: { roots: [${root}] }) { query: Query mutation: Mutation }`,
    'directive @transport(subgraph: String, options: TransportOptions) on SCHEMA',
    'directive @grpcMethod(rootJsonName: String, objPath: String, methodName: String) on FIELD_DEFINITION',
    'scalar TransportOptions',
    '"A message of the contract." scalar CoreMessage',
    typeOf(
      'Query',
      calls.filter(({ method }) => READS.test(method)),
    ),
    typeOf(
      'Mutation',
      calls.filter(({ method }) => !READS.test(method)),
    ),
    '',
  ].join('\n');
}

interface Call {
  /** Full name, for instance slipway.v1.PodService. */
  service: string;
  method: string;
}

function callsOf({ nested = {}, methods = {} }: Namespace, path: readonly string[]): Call[] {
  const own = Object.entries(methods)
    .filter(([, { requestStream, responseStream }]) => !requestStream && !responseStream)
    .map(([method]) => ({ service: path.join('.'), method }));
  return [...own, ...Object.entries(nested).flatMap(([name, inner]) => callsOf(inner, [...path, name]))];
}

function typeOf(name: string, calls: readonly Call[]): string {
  const fields = calls.map(
    ({ service, method }) =>
      `  ${service.replaceAll('.', '_')}_${method}(input: CoreMessage): CoreMessage ` +
      `@grpcMethod(rootJsonName: "contract", objPath: "${service}", methodName: "${method}")`,
  );
  return [`type ${name} {`, ...fields, '}'].join('\n');
}
