/** Models that a machine keeps for workers. */
import type { MachineModelView, MachinePageView } from '../../../views-of-machines.ts';
import { counted, gigabytes } from '../lib/format.ts';
import { Badge, Panel } from '../ui/parts.tsx';

const COMMIT_LENGTH_SHOWN = 12;
const TONES = { READY: 'good', DOWNLOADING: 'warn', FAILED: 'bad' } as const;

/** Shows the models; nothing if there are none. */
export function MachineModels({ view: { models, modelLimitBytes, modelUsedBytes } }: { view: MachinePageView }) {
  if (models.length === 0) return null;
  const space = `${gigabytes(modelUsedBytes)} of ${gigabytes(modelLimitBytes)}`;
  return (
    <Panel title="Models" aside={`${counted(models.length, 'model')}, ${space}`}>
      <div className="scroll" tabIndex={0} role="region" aria-label="Models, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>Model</th>
              <th>Revision</th>
              <th>State</th>
              <th className="right">Size</th>
              <th>Commit</th>
              <th>For</th>
            </tr>
          </thead>
          <tbody>
            {models.map((model) => (
              <Row key={`${model.accountNumber} ${model.repository} ${model.revision}`} model={model} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Row({ model }: { model: MachineModelView }) {
  const { repository, revision, commit, state, bytes, error, accountNumber } = model;
  return (
    <tr>
      <th scope="row">
        <span className="text" title={repository}>
          {repository}
        </span>
      </th>
      <td>{revision}</td>
      <td>
        <Badge word={stateOf(model)} tone={TONES[state as keyof typeof TONES]} /> {error}
      </td>
      <td className="right number">{bytes === 0 ? '–' : gigabytes(bytes)}</td>
      <td>{commit === '' ? '–' : <code title={commit}>{commit.slice(0, COMMIT_LENGTH_SHOWN)}</code>}</td>
      <td>{accountNumber === 0 ? 'all accounts' : `account ${accountNumber}`}</td>
    </tr>
  );
}

function stateOf({ state, bytes, downloadedBytes }: MachineModelView): string {
  if (state !== 'DOWNLOADING' || bytes === 0) return state;
  return `downloading, ${Math.min(Math.floor((downloadedBytes / bytes) * 100), 99)}\u00A0%`;
}
