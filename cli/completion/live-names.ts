/** Names and ids of what is there, asked of core in a bounded time: a shell waits for them. */

import { delay } from '@slipway/kit/time/clock';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import { LOCAL, readContexts } from '../context-file.ts';
import { ago } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import type { Candidate } from './candidate.ts';

/** Request for names: the word of an argument or option, the command, and the options before it. */
interface Question {
  thing: string;
  path: string;
  values: Readonly<Record<string, string>>;
}

const ANSWER_MS_MAX = 1_500;
/** More names than a person looks through. */
const NAMES_MAX = 200;
const PAGE = { pageSize: NAMES_MAX };

type Source = (cli: Cli, question: Question) => Promise<Candidate[]> | Candidate[];

/** Sources by the word of the help. A word that means different things stands with its command. */
const SOURCES: Readonly<Record<string, Source>> = {
  endpoint: endpoints,
  endpoints,
  'endpoint-or-job': endpoints,
  'worker-or-endpoint': endpoints,
  template: async ({ core }) => {
    const { templates } = await core.templates.call((client) => client.listTemplates, {
      includePublic: false,
      ...PAGE,
    });
    return templates.map(({ name, imageName }) => ({ word: name, about: imageName }));
  },
  machine: async ({ operator }) => {
    const { machines } = await operator.machines.call((client) => client.listMachines, PAGE);
    return machines.map(({ machine, connected }) => ({ word: machine!.name, about: connected ? 'connected' : 'away' }));
  },
  pool: async ({ operator }) => {
    const { pools } = await operator.machines.call((client) => client.listMachinePools, {});
    return pools.map(({ name, machines }) => ({ word: name, about: `${machines} machines` }));
  },
  job: async (cli, { values }) => {
    const endpointId = await endpointIdOf(cli, values['endpoint']);
    const request = {
      endpointId,
      state: JobState.UNSPECIFIED,
      offset: 0,
      limit: 50,
      pageToken: '',
      oldestFirst: false,
    };
    const { jobs } = await cli.core.jobs.call((client) => client.listJobs, {
      ...request,
      submittedFrom: undefined,
      submittedUntil: undefined,
    });
    return jobs.map(({ id, state }) => ({ word: id, about: enumName(JobState, state) }));
  },
  pod: async ({ core }) => {
    const { pods } = await core.pods.call((client) => client.listPods, {
      includeWorkers: false,
      endpointId: '',
      endpointIds: [],
      ...PAGE,
    });
    return pods.map(({ id, name }) => ({ word: id, about: name }));
  },
  'keys revoke id': async ({ core, output }) => {
    const { keys } = await core.keys.call((client) => client.listKeys, { accountId: '', all: false, ...PAGE });
    const open = keys.filter(({ revokeTime }) => revokeTime === undefined);
    return open.map(({ id, name, createTime }) => ({ word: id, about: `${name}, ${ago(createTime, output.nowMs())}` }));
  },
  'volumes update id': volumes,
  'volumes delete id': volumes,
  'secrets set name': secrets,
  'secrets delete name': secrets,
  'registry-auths update id': registryAuths,
  'registry-auths delete id': registryAuths,
  'context use name': contexts,
  'context get name': contexts,
  'context remove name': contexts,
};

/** Options whose word does not name this resource. */
const OPTIONS: Readonly<Record<string, Source>> = { name: contexts };

/** Returns the names. None if they are unknown or core does not answer in time: a shell must never hang. */
export async function namesOf(cli: Cli, question: Question): Promise<Candidate[]> {
  const { thing, path, values } = question;
  const key = `${path} ${thing}`;
  const source = SOURCES[key] ?? SOURCES[thing] ?? (path === '' ? OPTIONS[thing] : undefined);
  if (!source) return [];
  cli.setOptions({ ...values, json: cli.output.json });
  const late = new AbortController();
  const inTime = delay(cli.clock, ANSWER_MS_MAX, late.signal).then((): Candidate[] => []);
  const asked = (async () => source(cli, question))().catch((): Candidate[] => []);
  const found = await Promise.race([asked, inTime]);
  late.abort();
  return found.slice(0, NAMES_MAX);
}

async function endpoints({ core }: Cli): Promise<Candidate[]> {
  const { endpoints } = await core.endpoints.call((client) => client.listEndpoints, PAGE);
  const names = endpoints.map(({ name }) => name);
  const isUnique = (name: string): boolean => names.indexOf(name) === names.lastIndexOf(name);
  return endpoints.map(({ id, name }) => (isUnique(name) ? { word: name, about: id } : { word: id, about: name }));
}

async function volumes({ core }: Cli): Promise<Candidate[]> {
  const { networkVolumes } = await core.volumes.call((client) => client.listNetworkVolumes, PAGE);
  return networkVolumes.map(({ id, name }) => ({ word: id, about: name }));
}

async function secrets({ core }: Cli): Promise<Candidate[]> {
  const { secrets } = await core.secrets.call((client) => client.listSecrets, PAGE);
  return secrets.map(({ name, description }) => ({ word: name, about: description }));
}

async function registryAuths({ core }: Cli): Promise<Candidate[]> {
  const { registryAuths } = await core.registryAuths.call((client) => client.listRegistryAuths, PAGE);
  return registryAuths.map(({ id, name }) => ({ word: id, about: name }));
}

function contexts({ config }: Cli): Candidate[] {
  const { contexts } = readContexts(config.contextFile);
  const known = Object.entries(contexts).map(([name, { core }]) => ({ word: name, about: core }));
  return [...known, { word: LOCAL, about: 'npm start of this machine' }];
}
