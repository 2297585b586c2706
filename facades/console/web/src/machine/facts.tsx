/** Details of a machine: its agent's report, its key, and the addresses of its workers. */
import type { MachinePageView } from '../../../views-of-machines.ts';
import { ago, gigabytes, mib, moment } from '../lib/format.ts';
import { FactsTable, Panel } from '../ui/parts.tsx';

/** Most addresses that are listed; the rest is counted. */
const ADDRESSES_MAX = 20;

/** Shows the panel. */
export function Facts({ view }: { view: MachinePageView }) {
  return (
    <Panel title="Details">
      <FactsTable label="Details" facts={factsOf(view)} />
    </Panel>
  );
}

function factsOf({ machine, nowMs, ...view }: MachinePageView): [string, string][] {
  const {
    agentSinceMs,
    keyId,
    keyRevokedMs,
    replicaAddress,
    cpuModel,
    cpuSlots,
    cudaVersion,
    runsCommands,
    noEngineReason,
  } = view;
  const { imageTotalMib, imageFreeMib, modelLimitBytes, modelUsedBytes } = view;
  const runs = [machine.engine === '' ? '' : `images (${machine.engine})`, runsCommands ? 'commands of the host' : '']
    .filter(Boolean)
    .join(', ');
  const since = agentSinceMs === 0 ? '' : `, this run since ${moment(agentSinceMs)}`;
  return [
    ['Runs', runs || 'nothing'],
    ['No engine', noEngineReason],
    ['Pool', machine.pool],
    [
      'Labels',
      Object.entries(machine.labels)
        .map(([name, value]) => `${name}=${value}`)
        .sort()
        .join(', '),
    ],
    ['Locations', machine.locations.join(', ')],
    ['Processors', machine.cpuCount === 0 ? '' : `${machine.cpuCount} ${cpuModel}`.trim()],
    ['Memory', machine.memoryMib === 0 ? '' : mib(machine.memoryMib)],
    ['Workers without a GPU', `at most ${cpuSlots}`],
    ['CUDA', cudaVersion],
    ['Disk for images', imageTotalMib === 0 ? '' : `${mib(imageFreeMib)} of ${mib(imageTotalMib)} free`],
    [
      'Disk for models',
      modelLimitBytes === 0
        ? 'none: it takes no models'
        : `${gigabytes(modelUsedBytes)} of ${gigabytes(modelLimitBytes)} used`,
    ],
    ['Agent', `${machine.agentVersion || 'of an unknown version'}${since}`],
    ['Key', keyRevokedMs > 0 ? `${keyId}, revoked ${ago(keyRevokedMs, nowMs)}` : keyId],
    ['Session', replicaAddress === '' ? 'none' : `with core at ${replicaAddress}`],
    ['Listening', listening(view.addresses)],
  ];
}

/** Returns addresses as `x4kq0c2m9w1zpd at 10.0.0.7:40001`; of pods with the port that their owners named. */
function listening(addresses: MachinePageView['addresses']): string {
  const more = addresses.length - ADDRESSES_MAX;
  const named = addresses
    .slice(0, ADDRESSES_MAX)
    .map(
      ({ id, port, address }) =>
        `${id}${port === '' ? '' : ` port ${port}`} ${address === 'tunnel' ? 'by the tunnels' : `at ${address}`}`,
    );
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
