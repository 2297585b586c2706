/** Embeddings of several texts, and how similar they are to the first one. */
import { useState } from 'react';
import { Panel } from '../../ui/parts.tsx';
import type { ModelChoice } from './model-choice.ts';
import { askOpenai } from './openai-send.ts';
import { RunBar } from './run-bar.tsx';
import { useRun } from './use-run.ts';
import { ViewCode } from './view-code.tsx';

/** Most texts of one request. */
const TEXTS_MAX = 100;
const VALUES_SHOWN = 4;

interface Vector {
  text: string;
  values: readonly number[];
}

/** Shows the form and a table of the vectors. */
export function Embeddings({ endpoint, model }: ModelChoice) {
  const [text, setText] = useState('a lighthouse at dusk\na harbour at night\ninvoice of November');
  const [vectors, setVectors] = useState<readonly Vector[]>([]);
  const run = useRun();
  const texts = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, TEXTS_MAX);
  const request = { route: '/embeddings', body: { model, input: texts, encoding_format: 'float' } };
  const send = (): void => {
    if (run.isRunning || texts.length === 0) return;
    setVectors([]);
    run.start(async (signal) => {
      const numbers = vectorsOf(await askOpenai(endpoint, request, signal));
      setVectors(numbers.map((values, place) => ({ text: texts[place] ?? '', values })));
      return '';
    });
  };
  return (
    <>
      <Panel title="Embeddings">
        <div
          className="body asked"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
          }}
        >
          <div>
            <label htmlFor="texts">Texts, one a line</label>
            <textarea id="texts" rows={5} value={text} onChange={({ target }) => setText(target.value)} />
          </div>
          <RunBar run={run} isReady={texts.length > 0} onSend={send} />
        </div>
        {vectors.length > 0 && <Vectors vectors={vectors} />}
      </Panel>
      <ViewCode endpoint={endpoint} request={request} />
    </>
  );
}

function Vectors({ vectors }: { vectors: readonly Vector[] }) {
  const first = vectors[0]!.values;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Vectors, scrolls sideways">
      <table className="rows">
        <thead>
          <tr>
            <th>Text</th>
            <th className="right">Dimensions</th>
            <th className="right">Similarity to the first</th>
            <th>Begins with</th>
          </tr>
        </thead>
        <tbody>
          {vectors.map(({ text, values }, place) => (
            <tr key={place}>
              <th scope="row">{text}</th>
              <td className="right number">{values.length}</td>
              <td className="right number">{similarity(first, values).toFixed(3)}</td>
              <td className="number">
                {values
                  .slice(0, VALUES_SHOWN)
                  .map((value) => value.toPrecision(3))
                  .join(', ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Returns the vectors of an answer. Throws an Error if it has none. */
function vectorsOf({ data }: Record<string, unknown>): number[][] {
  const vectors = (Array.isArray(data) ? data : []).map((item) => (item as { embedding?: unknown } | null)?.embedding);
  const isWhole = vectors.every(
    (vector): vector is number[] => Array.isArray(vector) && vector.every((value) => typeof value === 'number'),
  );
  if (vectors.length === 0 || !isWhole) throw new Error('The answer has no vectors of numbers.');
  return vectors;
}

/** Returns the cosine of two vectors. */
function similarity(a: readonly number[], b: readonly number[]): number {
  const dot = (one: readonly number[], other: readonly number[]): number =>
    one.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}
