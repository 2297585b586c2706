/** Settings with which the clients of the public API reach this installation. */

/** Public address and key of an installation. */
export interface Installation {
  /** HTTP address without a path, for instance https://gpu.example. */
  url: string;
  /** `undefined` if it is unknown: the variable is then left out. */
  key: string | undefined;
}

/** Settings of one client. */
export interface ClientGuide {
  /** Programs that read them. */
  reads: string;
  /** Returns environment variables. `undefined` values are left out. */
  variables(of: Installation): Readonly<Record<string, string | undefined>>;
  /** Returns the remarks for people, a line each. */
  notes(of: Installation): readonly string[];
}

const hostOf = ({ url }: Installation): string => new URL(url).hostname;

/** All clients by the word of `slipway env --for`. */
export const CLIENT_GUIDES = {
  python: {
    reads: 'the Python package runpod (1.x and 2.x), rp flash',
    variables: ({ url, key }) => ({
      RUNPOD_API_KEY: key,
      RUNPOD_API_BASE_URL: url,
      RUNPOD_ENDPOINT_BASE_URL: `${url}/v2`,
    }),
    notes: () => ['They are read when runpod is imported.'],
  },
  ctl: {
    reads: 'runpodctl',
    variables: ({ url, key }) => ({
      RUNPOD_API_KEY: key,
      RUNPOD_API_URL: `${url}/v1`,
      RUNPOD_GRAPHQL_URL: `${url}/graphql`,
      RUNPOD_REST_V2_URL: `${url}/v2`,
      RUNPOD_INVOKE_URL: `${url}/v2`,
    }),
    notes: () => [],
  },
  mcp: {
    reads: '@runpod/mcp-server',
    variables: ({ url, key }) => ({
      RUNPOD_API_KEY: key,
      RUNPOD_API_BASE_URL: url,
      RUNPOD_SERVERLESS_API_URL: `${url}/v2`,
      RUNPOD_PUBLIC_GRAPHQL_URL: `${url}/graphql`,
      RUNPOD_AUTHED_GRAPHQL_URL: `${url}/graphql`,
    }),
    notes: () => ['They belong into "env" of the server in the settings of your MCP client.'],
  },
  terraform: {
    reads: 'the Terraform provider runpod/runpod',
    variables: ({ url, key }) => ({
      RUNPOD_API_KEY: key,
      RUNPOD_BASE_URL: `${url}/v2`,
      RUNPOD_GRAPHQL_URL: `${url}/graphql`,
    }),
    notes: () => [],
  },
  dstack: {
    reads: 'dstack',
    variables: () => ({}),
    notes: (installation) => [
      'dstack has no setting for the address: it asks https://api.runpod.io.',
      `Where the dstack server runs, let that name mean ${hostOf(installation)}: a line of /etc/hosts, or DNS.`,
      "Let the edge serve a certificate for it, and set REQUESTS_CA_BUNDLE to its authority's file.",
      'creds.api_key of the backend is your key.',
    ],
  },
  openai: {
    reads: 'packages and programs for the OpenAI API',
    variables: ({ url, key }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/openai/v1` }),
    notes: () => ['The name of a model selects the endpoint: slipway endpoints list.'],
  },
} as const satisfies Readonly<Record<string, ClientGuide>>;

/** Word for a client. */
export type ClientName = keyof typeof CLIENT_GUIDES;
