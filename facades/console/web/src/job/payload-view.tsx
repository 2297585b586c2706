/**
 * What a job was given or gave, whatever its size: it stays a Blob, which browsers keep outside of the page's memory,
 * and only the part that is shown is ever made into text, laid out to be read.
 */

import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { askBlob } from '../lib/api.ts';
import { bytes } from '../lib/format.ts';
import { formatJson, stringOf } from '../lib/format-json.ts';
import { saveFile } from '../lib/save-file.ts';
import { Empty, Failed, Loading, Panel } from '../ui/parts.tsx';
import { Blocks } from '../ui/text-blocks.tsx';

/** What is no larger is shown as a whole, in bytes. */
const WHOLE_MAX = 200_000;
const PART = 100_000;
/** More than this nobody reads in a page. */
const SHOWN_MAX = 10 * PART;
/** What is nested deeply grows when it is laid out: so many characters for each byte at most. */
const GROWTH_MAX = 5;
/** The record in front of an output: an error may stand in it. */
const RECORD_MAX = 2_000_000;

interface PayloadProps {
  title: string;
  path: string;
  /** Of the file that it is saved as. */
  name: string;
  /** What changes when there may be another. */
  version: string;
  /** Where it stands in what the path answers. */
  find?: (answer: Blob) => Promise<Blob>;
}

/** The panel. */
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
        <Empty title="There is none." />
      </Panel>
    );
  return (
    <Panel
      title={title}
      aside={
        <>
          <span>{bytes(data.size)}</span>
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

/** The first bytes as text; a character that the cut goes through is left out. */
async function firstOf(payload: Blob, length: number): Promise<string> {
  return new TextDecoder().decode(await payload.slice(0, length).arrayBuffer(), { stream: true });
}

async function whole(answer: Blob): Promise<Blob> {
  return answer;
}

/**
 * The output of a record, its last member; no text in front of it can hold these characters, because quotes in texts
 * are escaped.
 */
export async function outputOf(record: Blob): Promise<Blob> {
  const mark = ',"output":';
  const head = await firstOf(record, RECORD_MAX);
  const at = head.indexOf(mark);
  if (at < 0) return new Blob();
  return record.slice(new TextEncoder().encode(head.slice(0, at + mark.length)).length, -1, 'application/json');
}
