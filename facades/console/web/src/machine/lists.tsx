/** Pods and images of a machine, and endpoints that do not fit on it. */
import { Link } from 'wouter';
import type { MachinePageView } from '../../../views-of-machines.ts';
import { coreText } from '../lib/core-text.ts';
import { ago, bytes, count, counted, mib } from '../lib/format.ts';
import { AccountName, Badge, Panel } from '../ui/parts.tsx';

/** Shows the pods; nothing if there are none. */
export function Pods({ view: { pods, nowMs, accounts } }: { view: MachinePageView }) {
  if (pods.length === 0) return null;
  return (
    <Panel title="Pods">
      <div className="scroll" tabIndex={0} role="region" aria-label="Pods, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>Name</th>
              <th>State</th>
              <th>Since</th>
              <th>Image</th>
              <th className="right">GPUs</th>
              <th>Account</th>
            </tr>
          </thead>
          <tbody>
            {pods.map(({ id, name, state, sinceMs, image, gpus, accountId }) => (
              <tr key={id}>
                <th scope="row">
                  <span className="text" title={name}>
                    {name}
                  </span>{' '}
                  <code className="id">{id}</code>
                </th>
                <td>
                  <Badge word={state} />
                </td>
                <td>{ago(sinceMs, nowMs)}</td>
                <td className="wide">
                  <span className="text" title={image}>
                    {image || 'none: a command of the host'}
                  </span>
                </td>
                <td className="right number">{gpus.length || '–'}</td>
                <td>
                  <AccountName id={accountId} accounts={accounts} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** Shows the images, largest first; nothing if there are none. */
export function Images({ view: { images, imageCount, imageBytes } }: { view: MachinePageView }) {
  if (images.length === 0) return null;
  const shown =
    images.length < imageCount
      ? `the largest ${count(images.length)} of ${counted(imageCount, 'name')}`
      : counted(imageCount, 'name');
  return (
    <Panel
      title="Images"
      aside={
        <span>
          {shown}, {sizeOf(imageBytes)} in all
        </span>
      }
    >
      <div className="scroll" tabIndex={0} role="region" aria-label="Images, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>Name</th>
              <th className="right">Size</th>
              <th>Digest</th>
            </tr>
          </thead>
          <tbody>
            {images.map(({ name, digest, bytes: size }) => (
              <tr key={name}>
                <th scope="row" className="wide">
                  <span className="text" title={name}>
                    {name}
                  </span>
                </th>
                <td className="right number">{sizeOf(size)}</td>
                <td>{digest === '' ? 'from no registry' : <code title={digest}>{digest.slice(0, 19)}…</code>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

const MIB = 1_048_576;

/** Formats the size of an image; from 1 GiB in whole GiB. */
function sizeOf(value: number): string {
  return value < 1_024 * MIB ? bytes(value) : mib(value / MIB);
}

/** Shows endpoints with workers that cannot be placed here; nothing if there are none. */
export function UnfitEndpoints({ view: { refusals, accounts } }: { view: MachinePageView }) {
  if (refusals.length === 0) return null;
  return (
    <Panel title="Endpoints that do not fit" aside="their workers cannot be placed here now">
      <ul className="problems">
        {refusals.map(({ endpointId, endpointName, accountId, reason, change }) => (
          <li key={endpointId}>
            <Link href={`/endpoints/${endpointId}`}>{endpointName}</Link>{' '}
            <span className="hint">
              account <AccountName id={accountId} accounts={accounts} />
            </span>
            : {coreText(change === '' ? reason : `${reason} – ${change}`)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
