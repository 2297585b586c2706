/** The output of a job, whatever its size: read as text, shown in parts, never made into objects when it is large. */
import { useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { askText } from '../api.ts';
import { Empty, Failed, Loading, Panel } from '../parts.tsx';
import { bytes } from '../words.ts';

/** Up to here JSON is laid out to be read, in characters. */
const LAID_OUT_MAX = 200_000;
const PART = 100_000;

/** The panel. */
export function OutputView({ endpointId, jobId, state }: { endpointId: string; jobId: string; state: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['output', endpointId, jobId, state], staleTime: Infinity, gcTime: 60_000,
    queryFn: ({ signal }) => askText(`/api/v2/${endpointId}/status/${jobId}`, signal),
  });
  const [shown, setShown] = useState(PART);
  if (error) return <Panel title="Output"><Failed error={error} again={() => void refetch()} /></Panel>;
  if (data === undefined) return <Panel title="Output"><Loading /></Panel>;
  const output = outputOf(data);
  if (output === '') return <Panel title="Output"><Empty title="There is none." /></Panel>;
  const text = laidOut(output);
  return (
    <Panel title="Output" aside={<><span>{bytes(output.length)}</span><button type="button" onClick={() => save(output, `${jobId}.json`)}>Download</button></>}>
      <pre className="viewer" tabIndex={0} aria-label="Output">{text.slice(0, shown)}</pre>
      {text.length > shown && (
        <div className="more">
          <button type="button" onClick={() => setShown(shown + PART)}>Show more</button>
          <span className="hint">{bytes(shown)} of {bytes(text.length)} shown</span>
        </div>
      )}
    </Panel>
  );
}

/** The last member of a record is its output; no text in front of it can hold these characters, because quotes in texts are escaped. */
function outputOf(record: string): string {
  const mark = ',"output":';
  const at = record.indexOf(mark);
  return at < 0 ? '' : record.slice(at + mark.length, -1);
}

function laidOut(output: string): string {
  if (output.length > LAID_OUT_MAX) return output;
  const value = JSON.parse(output) as unknown;
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

function save(text: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
