/** Compares other settings with the current ones over the last hours. */
import type { WhatIfFiguresView, WhatIfView } from '../../../views.ts';
import { coreText } from '../lib/core-text.ts';
import { count, span } from '../lib/format.ts';
import { Empty, Panel } from '../ui/parts.tsx';

/** Shows the panel. */
export function WhatIf({
  answer: { total, replayed, changed: differ, notes },
  changed,
}: {
  answer: WhatIfView;
  changed: readonly string[];
}) {
  const what = changed.length === 0 ? 'with the settings as they are' : `with other ${changed.join(', ')}`;
  if (!total)
    return (
      <Panel title="What would have happened">
        <Empty title="No job came in the last 12 hours, so there is nothing to compare." />
      </Panel>
    );
  const rows: [string, (figures: WhatIfFiguresView) => string][] = [
    ['Workers on average', ({ workers }) => workers.toFixed(2)],
    ['95 of 100 jobs waited at most', ({ p95WaitMs }) => span(p95WaitMs)],
    ['Worker time', ({ workerSeconds }) => span(workerSeconds * 1_000)],
    ['GPU time', ({ gpuSeconds }) => span(gpuSeconds * 1_000)],
  ];
  return (
    <Panel title="What would have happened" aside={`${count(total.jobs)} jobs in the last 12 hours, ${what}`}>
      <div className="scroll" tabIndex={0} role="region" aria-label="Comparison, scrolls sideways">
        <table className="rows">
          <thead>
            <tr>
              <th>
                <span className="spoken">Figure</span>
              </th>
              <th className="right">Measured</th>
              <th className="right">Model of the past</th>
              <th className="right">Model of the change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([title, text]) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                <td className="right number">{text(total.measured)}</td>
                <td className="right number">{text(total.asItWas)}</td>
                <td className="right number">
                  <strong>{text(total.wouldBe)}</strong>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="body hint">
        <p>
          {differ} of {replayed} recorded decisions would have come to another number of workers.
        </p>
        {notes.map((note) => (
          <p key={note}>{coreText(note)}</p>
        ))}
      </div>
    </Panel>
  );
}
