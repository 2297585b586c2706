/** The end of what a pod or worker wrote, read anew while it is looked at. */
import { useMemo } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { LogTailView } from '../../views-of-pods.ts';
import { ask } from './api.ts';
import { Tail, withMore } from './blocks.tsx';
import { Failed, Loading } from './parts.tsx';
import { plainText } from './worker-text.ts';

const LOOK_MS = 3_000;
/** All that the service tells of one. */
const SHOWN_MAX = 500_000;

/** The text. `path`: where it is read; `label`: whose it is. */
export function TailLog({ path, label }: { path: string; label: string }) {
  const { data, error, refetch } = useQuery({ queryKey: ['log', path], queryFn: () => ask<LogTailView>('GET', path), refetchInterval: LOOK_MS, gcTime: 0 });
  const blocks = useMemo(() => (data && data.text !== '' ? withMore([], plainText(data.text), SHOWN_MAX) : []), [data]);
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      <Tail blocks={blocks} label={label} otherwise="It wrote nothing yet." />
      {data.isCut && <p className="more hint">the end of it; slipway pods logs and slipway logs have more</p>}
    </>
  );
}
