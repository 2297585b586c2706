/** Reads and checks the options of `npm start`, and gives their help text. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** Options of `npm start`. Paths are absolute. */
export interface LocalOptions {
  /** Port of the public address. Default: 8080. */
  port: number;
  /** Folder of everything that must outlive a run. Default: `.slipway` in the project. */
  dataDir: string;
  /** URL of an existing PostgreSQL; `undefined` for an embedded one in the data folder. */
  databaseUrl: string | undefined;
  /** Runs an agent on this machine. Default: true. */
  agent: boolean;
  /**
   * Allows webhooks of all accounts to private addresses. If false, only npm start's own account may.
   * Default: false.
   */
  webhooksToPrivate: boolean;
  /** First of three loopback ports for the metrics of core, facade and agent; `undefined` if none are exported. */
  metricsPort: number | undefined;
  /** Address at which core also listens, by TLS, as host:port, so that other machines can join; `undefined` if none. */
  joinAddress: string | undefined;
  /** Reports neither jobs nor crashes of workers once everything is ready. Default: false. */
  quiet: boolean;
  /** The user's handler; `undefined` for the example. */
  handlerFile: string | undefined;
  /**
   * The handler is an HTTP server, for a load-balancing endpoint. Default: false, the handler takes jobs of a queue.
   */
  lb: boolean;
  /** Backup that the new database starts with; `undefined` for none. */
  restoreFile: string | undefined;
}

/** A mistake in the options. Its message is shown to the user without a stack. */
export class UsageError extends Error {}

const PORT_DEFAULT = 8080;
const PORT_MAX = 65_535;
/** Port of `--join-address` if it names none: core's own port is taken by loopback. */
const JOIN_PORT = 50_052;
const HANDLER_ENDINGS = ['.py', '.js', '.mjs', '.ts', '.mts'];

/**
 * Returns the output of `--help`. It is a separate file, because bootstrap.mjs prints it before anything is
 * installed.
 */
export function helpText(): string {
  return readFileSync(join(import.meta.dirname, 'start-help.txt'), 'utf8');
}

/** Folders that the defaults of the options depend on. */
interface OptionDefaults {
  /** Folder in which the data folder lies by default. */
  root: string;
  /** Folder in which the user typed the command. Relative paths start there. */
  callerDir: string;
}

/** Reads the command line. Returns `help` if it asks for the help text. Throws UsageError. */
export function readOptions(args: readonly string[], { root, callerDir }: OptionDefaults): LocalOptions | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const given = values['data-dir'];
  return {
    port: readPort('port', values.port) ?? PORT_DEFAULT,
    metricsPort: readPort('metrics', values.metrics, PORT_MAX - 2),
    joinAddress: readJoinAddress(values['join-address']),
    dataDir: given === undefined ? join(root, '.slipway') : resolve(callerDir, given),
    databaseUrl: readDatabaseUrl(values['database-url']) ?? readDatabaseUrlFile(values['database-url-file'], callerDir),
    agent: !values['no-agent'],
    quiet: values.quiet === true,
    webhooksToPrivate: values['webhooks-to-private'] === true,
    lb: values.lb === true,
    restoreFile: readRestore(values.restore, callerDir),
    handlerFile: values.handler === undefined ? undefined : readHandlerFile(resolve(callerDir, values.handler)),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: 'string' },
        'data-dir': { type: 'string' },
        'database-url': { type: 'string' },
        'database-url-file': { type: 'string' },
        'no-agent': { type: 'boolean' },
        'webhooks-to-private': { type: 'boolean' },
        handler: { type: 'string' },
        restore: { type: 'string' },
        quiet: { type: 'boolean' },
        lb: { type: 'boolean' },
        metrics: { type: 'string' },
        'join-address': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${helpText()}`);
  }
}

function readPort(name: string, text: string | undefined, max = PORT_MAX): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= max) return port;
  throw new UsageError(`--${name} is ${JSON.stringify(text)}, but must be a number from 1 to ${max}.`);
}

function readJoinAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = /^[^\s/@?#]+$/.test(text) && URL.canParse(`tls://${text}`) ? new URL(`tls://${text}`) : undefined;
  if (!url?.hostname) throw new UsageError(`--join-address is ${JSON.stringify(text)}, but must be HOST or HOST:PORT.`);
  return `${url.hostname}:${url.port || JOIN_PORT}`;
}

function readDatabaseUrl(text: string | undefined): string | undefined {
  if (text === undefined || (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text))) return text;
  throw new UsageError('--database-url must look like postgres://user:password@host:5432/database.');
}

function readDatabaseUrlFile(file: string | undefined, callerDir: string): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readDatabaseUrl(readFileSync(resolve(callerDir, file), 'utf8').trim());
  } catch (error) {
    throw error instanceof UsageError
      ? error
      : new UsageError(`The file of --database-url-file cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the absolute path of a backup, or its address in S3. */
function readRestore(text: string | undefined, callerDir: string): string | undefined {
  return text === undefined || text.startsWith('s3://') ? text : resolve(callerDir, text);
}

function readHandlerFile(file: string): string {
  if (!HANDLER_ENDINGS.some((ending) => file.endsWith(ending))) {
    throw new UsageError(`--handler is ${file}, but must be a file that ends in ${HANDLER_ENDINGS.join(', ')}.`);
  }
  if (!existsSync(file)) throw new UsageError(`There is no handler at ${file}.`);
  return file;
}
