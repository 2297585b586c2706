/** Submits a new job with the input of an earlier one, which can be changed first. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { askBlob, sendText } from '../lib/api.ts';
import { formatJson } from '../lib/format-json.ts';
import { faultOf } from '../lib/input-fault.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { Empty, Failed, Loading } from '../ui/parts.tsx';

/** Largest input that is edited in the page, in bytes. */
const EDITED_MAX = 200_000;

/** Shows the dialog. The new job gets the metadata of the earlier one. */
export function EditAndRun({
  endpointId,
  jobId,
  metadata,
  onClose,
}: {
  endpointId: string;
  jobId: string;
  metadata: Readonly<Record<string, string>>;
  onClose: () => void;
}) {
  const { data, error } = useQuery({
    queryKey: ['edited', endpointId, jobId],
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const input = await askBlob(`/api/endpoints/${endpointId}/jobs/${jobId}/input`, signal);
      return input.size > EDITED_MAX ? '' : formatJson(await input.text(), Infinity);
    },
  });
  if (data !== undefined && data !== '')
    return <Edited endpointId={endpointId} input={data} metadata={metadata} onClose={onClose} />;
  return (
    <Dialog title="Edit and run again" onClose={onClose}>
      {error ? (
        <Failed error={error} />
      ) : data === undefined ? (
        <Loading />
      ) : (
        <Empty title="This input is too large to edit here.">
          Download it, change the file and send it: slipway jobs run --input @FILE
        </Empty>
      )}
    </Dialog>
  );
}

function Edited({
  endpointId,
  input,
  metadata,
  onClose,
}: {
  endpointId: string;
  input: string;
  metadata: Readonly<Record<string, string>>;
  onClose: () => void;
}) {
  const [text, setText] = useState(input);
  const [, go] = useLocation();
  const submit = async (): Promise<void> => {
    const fault = faultOf(text);
    if (fault !== '') throw new Error(fault);
    const more = Object.keys(metadata).length === 0 ? '' : `,"metadata":${JSON.stringify(metadata)}`;
    const { id } = await sendText<{ id: string }>(`/api/v2/${endpointId}/run`, `{"input":${text}${more}}`);
    onClose();
    go(`/endpoints/${endpointId}/jobs/${id}`);
  };
  return (
    <DialogForm title="Edit and run again" action="Run it as a new job" onSubmit={submit} onClose={onClose}>
      <div className="body">
        <label htmlFor="edited">The handler’s input, as JSON</label>
        <textarea
          id="edited"
          className="code"
          rows={14}
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </div>
    </DialogForm>
  );
}
