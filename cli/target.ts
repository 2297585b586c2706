/**
 * Chooses core's address and the keys of a command: options first, then the environment, then the context in use, then
 * the local.env of `npm start` on this machine.
 */
import { relative, resolve } from 'node:path';
import { ADDRESS_FORMS, parseAddress } from '@slipway/kit/net/address';
import { isWrongPin, trustOf, withTls, wrongPin } from '@slipway/kit/net/core-tls';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { tlsFaults } from '@slipway/kit/net/tls';
import type { ChosenContext } from './choose-context.ts';
import { chooseContext } from './choose-context.ts';
import type { CliConfig } from './config.ts';
import { UsageError } from './failures.ts';
import type { LocalFacts } from './local-env.ts';
import { readLocalEnv, usualFiles } from './local-env.ts';

/** Options that every command takes. */
export interface TargetOptions {
  core?: string;
  key?: string;
  /** Name of a context; `local` for none. */
  context?: string;
  /** Digest or file of the authority of core's certificate. */
  coreCa?: string;
  /** Earlier name of `coreCa`. */
  caFile?: string;
  /** Path of another local.env. */
  localEnv?: string;
}

export interface Target {
  /** Address of core: host:port or grpcs://host:port. */
  address: string;
  /** Name of the context that gave the address. `undefined` if the address was given, or comes from npm start. */
  context: string | undefined;
  /** Whether that context was neither named by an option nor by the environment. */
  isUsual: boolean;
  /** Files for a connection with TLS. */
  tls: TlsFiles;
  /** The user's key. */
  user: TargetKey;
  /** The operator's key. */
  operator: TargetKey;
  /** Public address of the service. `undefined` if it is unknown. */
  url: string | undefined;
  /** Endpoint of commands that do not name one. */
  endpointId: string | undefined;
}

/** Result of the search for a key. */
export interface TargetKey {
  /** `undefined` if there is no key. */
  key: string | undefined;
  /** Source of the key, for people. */
  source: string;
  /** Public address of the only service that may get the key. `undefined` if the user chose the key. */
  url?: string | undefined;
  /** Instruction for people if there is no key. */
  hint: string;
}

/** Default address of core. */
const ADDRESS_DEFAULT = '127.0.0.1:50051';
const OPERATOR_HINT =
  'This command is for the operator of the installation and needs the root key. Set SLIPWAY_ROOT_KEY to that of ' +
  'core; beside "npm start" it is read from secrets.json.';

/** Chooses the target. Throws UsageError. The keys of a context and of local.env are sent only to their own core. */
export function chooseTarget(config: CliConfig, options: TargetOptions): Target {
  const chosen = chooseContext(config, options);
  const facts = findFacts(config.workingDir, options.localEnv);
  // A context that an option names goes before the environment.
  const first = chosen?.byOption ? chosen.context.core : undefined;
  const named = checkAddress(
    options.core ?? first ?? config.coreAddress ?? chosen?.context.core ?? facts?.coreAddress ?? ADDRESS_DEFAULT,
  );
  const used = chosen?.context.core === named ? chosen : undefined;
  const tls = trust(config, coreCaOf(options), used);
  const address = withTls(named, tls);
  const local = !used && facts?.coreAddress === named ? facts : undefined;
  const endpointId = preferred(used, 'endpoint', config.endpointId) ?? local?.endpointId;
  return {
    address,
    context: used?.name,
    isUsual: used !== undefined && !used.isNamed && options.core === undefined && config.coreAddress === undefined,
    tls,
    url: preferred(used, 'url', config.url) ?? local?.url,
    user: {
      ...firstKey([
        [options.key, 'of --key'],
        ...keys(used, 'key', [config.apiKey, 'of SLIPWAY_API_KEY']),
        [local?.apiKey, `in ${local?.file}`],
      ]),
      url: (options.key ?? config.apiKey) ? undefined : (used?.context.url ?? local?.url),
      hint: userHint(config.workingDir, address, { chosen, facts }),
    },
    operator: {
      ...firstKey([
        [options.key, 'of --key'],
        ...keys(used, 'rootKey', [config.rootKey, 'of SLIPWAY_ROOT_KEY']),
        [local?.rootKey, `beside ${local?.file}`],
      ]),
      hint: OPERATOR_HINT,
    },
    endpointId,
  };
}

type KeyCandidate = readonly [key: string | undefined, source: string];

/** Returns the keys of the context and of the environment in their order. */
function keys(used: ChosenContext | undefined, name: 'key' | 'rootKey', ofEnv: KeyCandidate): KeyCandidate[] {
  const ofContext: KeyCandidate = [used?.context[name], `of the context ${used?.name}`];
  return used?.byOption ? [ofContext, ofEnv] : [ofEnv, ofContext];
}

/** Returns the value of the context or of the environment, whichever goes first. */
function preferred(
  used: ChosenContext | undefined,
  name: 'endpoint' | 'url',
  ofEnv: string | undefined,
): string | undefined {
  const ofContext = used?.context[name];
  return used?.byOption ? (ofContext ?? ofEnv) : (ofEnv ?? ofContext);
}

function firstKey(candidates: readonly KeyCandidate[]): {
  key: string | undefined;
  source: string;
} {
  const found = candidates.find(([key]) => key !== undefined);
  return { key: checkKey(found?.[0]), source: found?.[1] ?? '' };
}

function findFacts(workingDir: string, named: string | undefined): LocalFacts | undefined {
  if (named === undefined)
    return usualFiles(workingDir)
      .map(readLocalEnv)
      .find((facts) => facts !== undefined && isOfThisMachine(facts));
  const facts = readLocalEnv(resolve(workingDir, named));
  if (!facts)
    throw new UsageError(`${named} cannot be read. "npm start" writes local.env into its data folder while it runs.`);
  return facts;
}

/**
 * Returns whether the facts are of this machine. `npm start` writes only loopback addresses. A file in some folder must
 * not send a key of the environment to another host.
 */
function isOfThisMachine({ coreAddress }: LocalFacts): boolean {
  return coreAddress === undefined || coreAddress.startsWith('127.0.0.1:');
}

/** Throws UsageError if it is no address of core. */
export function checkAddress(address: string): string {
  if (parseAddress(address)) return address;
  throw new UsageError(
    `The address of core is ${JSON.stringify(address)}, but must be ${ADDRESS_FORMS}, for instance ${ADDRESS_DEFAULT}.`,
  );
}

/** Returns --core-ca, or --ca-file. */
export function coreCaOf({ coreCa, caFile }: TargetOptions): string | undefined {
  return coreCa ?? caFile;
}

function trust(
  { coreTls, workingDir }: CliConfig,
  given: string | undefined,
  used: ChosenContext | undefined,
): TlsFiles {
  const isKnown = coreTls.caFile !== '' || coreTls.caDigests !== undefined;
  const ofContext = isKnown && !used?.byOption ? undefined : used?.context.coreCa;
  const coreCa = given ?? ofContext;
  if (coreCa !== undefined && isWrongPin(coreCa)) throw new UsageError(`${wrongPin('--core-ca', coreCa)}.`);
  const { caFile, caDigests } = coreCa === undefined ? coreTls : trustOf(coreCa);
  const { certFile, certKeyFile } = coreTls;
  const file = caFile === '' ? '' : resolve(workingDir, caFile);
  const files = { caFile: file, certFile, certKeyFile, ...(caDigests && { caDigests }) };
  const [fault] = tlsFaults(files);
  if (fault !== undefined) throw new UsageError(`${fault}.`);
  return files;
}

/** Checks that a key can be sent in a header. The error must not contain the key. */
function checkKey(key: string | undefined): string | undefined {
  if (key === undefined || /^[\x21-\x7e]+$/.test(key)) return key;
  throw new UsageError('The API key is empty or holds a character that no key has; copy it again.');
}

function userHint(
  workingDir: string,
  address: string,
  { chosen, facts }: { chosen: ChosenContext | undefined; facts: LocalFacts | undefined },
): string {
  const give = 'Give one with --key or SLIPWAY_API_KEY';
  if (chosen !== undefined)
    return chosen.context.key === undefined
      ? `The context ${chosen.name} has no API key: log in with "slipway login", or give one with --key.`
      : `There is no API key for ${address}: the key of the context ${chosen.name} belongs to ` +
          `${chosen.context.core}. ${give}.`;
  if (facts?.apiKey !== undefined) {
    return (
      `There is no API key for ${address}: the one in ${relative(workingDir, facts.file)} belongs to ` +
      `${facts.coreAddress}. ${give}.`
    );
  }
  return (
    `There is no API key. ${give}, log in with "slipway login ADDRESS", or run "npm start" here: beside it every ` +
    'command works without.'
  );
}
