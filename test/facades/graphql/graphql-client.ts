/** Sends POST /graphql for tests: any body with its status, or a document that must succeed. */
import type { Test } from 'tap';

/** Members of an error for programs. `help`: path of the code's entry in the list of codes. */
export interface ErrorExtensions {
  code: string;
  reason?: string;
  help: string;
}

/** A body of /graphql. */
export interface GraphqlBody {
  data?: Record<string, unknown> | null;
  errors?: { message: string; path?: (string | number)[]; extensions: ErrorExtensions }[];
}

/** An answer of /graphql. */
export interface GraphqlAnswer {
  status: number;
  body: GraphqlBody;
}

export type GraphqlClient = ReturnType<typeof graphqlClient>;

/** Speaks for one key, as the Python package does: in the header. */
export function graphqlClient(t: Test, url: string, key: string) {
  const post = async (body: unknown, apiKey = key): Promise<GraphqlAnswer> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as GraphqlBody };
  };
  return {
    post,
    /** Returns `data` of a document that must succeed. */
    async ok<Data = Record<string, unknown>>(query: string, variables?: object): Promise<Data> {
      const { status, body } = await post({ query, variables });
      t.equal(status, 200, JSON.stringify(body).slice(0, 500));
      t.notOk('errors' in body, `no errors key on success: ${JSON.stringify(body).slice(0, 500)}`);
      return body.data as Data;
    },
    /** Returns the first error of a document that must fail with null data for its field. */
    async refused(query: string, variables?: object): Promise<{ message: string; reason: string | undefined }> {
      const { body } = await post({ query, variables });
      const [error] = body.errors ?? [];
      t.ok(error, JSON.stringify(body).slice(0, 500));
      t.equal(error?.extensions.code, 'RUNPOD');
      t.same(body.data, { [String(error?.path?.[0])]: null });
      return { message: error?.message ?? '', reason: error?.extensions.reason };
    },
  };
}
