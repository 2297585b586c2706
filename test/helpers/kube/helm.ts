/** Runs helm and kubectl with settings and caches of their own. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kubeProgram } from '@slipway/tools/kube/kube-programs';
import type { Test } from 'tap';
import { parseAllDocuments } from 'yaml';
import { scratch } from '../scratch.ts';

const MIB = 1024 * 1024;
/** Folder of the chart. */
export const CHART = join(import.meta.dirname, '../../../deploy/helm/slipway');

/** An object that the chart renders. */
export interface ChartObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: fields of any kind of object.
  [field: string]: any;
}

export interface Client {
  /** Runs helm. Returns its output. Rejects with an error whose `stderr` says why. */
  helm(...args: string[]): Promise<string>;
  kubectl(...args: string[]): Promise<string>;
  /** Gives objects to `kubectl apply` in a file. */
  apply(objects: object, ...args: string[]): Promise<string>;
  /** Renders the chart without a cluster. `settings`: as `--set` has them. */
  render(settings: readonly string[], ...args: string[]): Promise<ChartObject[]>;
}

/** Makes a client. `kubeconfig`: the cluster that its commands talk to. */
export async function kubeClient(t: Test, kubeconfig = '/dev/null'): Promise<Client> {
  const { folder, path } = await scratch(t);
  mkdirSync(path('home'));
  const env = { PATH: process.env.PATH, HOME: path('home'), KUBECONFIG: kubeconfig };
  const run = async (program: 'helm' | 'kubectl', args: string[]): Promise<string> =>
    (await promisify(execFile)(kubeProgram(program), args, { env, cwd: folder, maxBuffer: 64 * MIB })).stdout;
  const helm = (...args: string[]): Promise<string> => run('helm', args);
  return {
    helm,
    kubectl: (...args) => run('kubectl', args),
    apply: (objects, ...args) => {
      writeFileSync(path('objects.json'), JSON.stringify(objects));
      return run('kubectl', ['apply', '--filename=objects.json', ...args]);
    },
    render: async (settings, ...args) => {
      const text = await helm('template', 'try', CHART, '--namespace=slipway', ...setOptions(settings), ...args);
      return parseAllDocuments(text)
        .map((document) => document.toJS() as ChartObject | null)
        .filter((object) => object !== null);
    },
  };
}

/** Returns options that give values to the chart. */
export function setOptions(settings: readonly string[]): string[] {
  return settings.map((setting) => `--set=${setting}`);
}
