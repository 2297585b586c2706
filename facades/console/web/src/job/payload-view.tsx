/**
 * Input or output of a job, of any size. It stays a Blob, which browsers keep outside of the page's memory. Only the
 * part that is shown is decoded and formatted.
 */

import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { askBlob } from '../lib/api.ts';
import { bytes } from '../lib/format.ts';
import { formatJson, stringOf } from '../lib/format-json.ts';
import { saveFile } from '../lib/save-file.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Empty, Failed, Loading, Panel } from '../ui/parts.tsx';
import { Blocks } from '../ui/text-blocks.tsx';

/** Largest payload that is shown completely, in bytes. */
const WHOLE_MAX = 200_000;
const PART = 100_000;
/** Most bytes that the page shows. */
const SHOWN_MAX = 10 * PART;
/** Most formatted characters for each byte: deep nesting grows when it is indented. */
const GROWTH_MAX = 5;
/** Most bytes of the record in front of an output: it may hold an error. */
const RECORD_MAX = 2_000_000;

interface PayloadProps {
  title: string;
  path: string;
  /** Name of the downloaded file. */
  name: string;
  /** Changes when the payload may have changed. */
  version: string;
  /** Returns where the payload is in the response. */
  find?: (answer: Blob) => Promise<Blob>;
}

/** Shows the panel. */
export function PayloadView({ title, path, name, version, find = whole }: PayloadProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['payload', path, version],
    staleTime: Infinity,
    gcTime: 60_000,
    queryFn: async ({ signal }) => find(await askBlob(path, signal)),
  });
  if (error)
    return (
      <Panel title={title}>
        <Failed error={error} again={() => void refetch()} />
      </Panel>
    );
  if (data === undefined)
    return (
      <Panel title={title}>
        <Loading />
      </Panel>
    );
  if (data.size === 0)
    return (
      <Panel title={title}>
        <Empty title={`No ${title.toLowerCase()}.`} />
      </Panel>
    );
  return (
    <Panel
      title={title}
      aside={
        <>
          <span>{bytes(data.size)}</span>
          <CopyButton text={() => data.text()} spoken={title} />
          <button type="button" onClick={() => saveFile(data, name)}>
            Download
          </button>
        </>
      }
    >
      <Shown payload={data} title={title} />
    </Panel>
  );
}

function Shown({ payload, title }: { payload: Blob; title: string }) {
  const [wanted, setWanted] = useState(payload.size <= WHOLE_MAX ? payload.size : PART);
  const [text, setText] = useState<string>();
  useEffect(() => {
    let isWanted = true;
    void firstOf(payload, wanted).then((part) => {
      if (isWanted) setText(stringOf(part) ?? formatJson(part, wanted * GROWTH_MAX));
    });
    return () => {
      isWanted = false;
    };
  }, [payload, wanted]);
  if (text === undefined) return <Loading />;
  return (
    <>
      <Blocks text={text} label={title} />
      {wanted < payload.size && (
        <div className="more">
          {wanted < SHOWN_MAX && (
            <button type="button" onClick={() => setWanted(wanted + PART)}>
              Show more
            </button>
          )}
          <span className="hint">
            the first {bytes(wanted)} of {bytes(payload.size)}; “Download” has all of it
          </span>
        </div>
      )}
    </>
  );
}

/** Decodes the first bytes. An incomplete character at the end is left out. */
async function firstOf(payload: Blob, length: number): Promise<string> {
  return new TextDecoder().decode(await payload.slice(0, length).arrayBuffer(), { stream: true });
}

async function whole(answer: Blob): Promise<Blob> {
  return answer;
}

/**
 * Returns the position of the output, the last member of the record. No string in front of it can contain these
 * characters, because quotes in strings are escaped.
 */
export async function outputOf(record: Blob): Promise<Blob> {
  const mark = ',"output":';
  const head = await firstOf(record, RECORD_MAX);
  const at = head.indexOf(mark);
  if (at < 0) return new Blob();
  return record.slice(new TextEncoder().encode(head.slice(0, at + mark.length)).length, -1, 'application/json');
}
