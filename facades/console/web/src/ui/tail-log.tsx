/** Shows the live end of the log of a pod or worker. */
import { useMemo } from 'react';
import type { LogTailView } from '../../../views-of-pods.ts';
import { useLive } from '../lib/use-live.ts';
import { plainText } from '../lib/worker-text.ts';
import { Away, Failed, Loading } from './parts.tsx';
import { Tail, withMore } from './text-blocks.tsx';

/** Most characters that are shown: all that the service sends. */
const SHOWN_MAX = 500_000;

/** Shows the log. `of` is the id of the pod or worker; `label` names it. */
export function TailLog({ of, label }: { of: { pod: string } | { worker: string }; label: string }) {
  const { view, away, ended } = useLive<LogTailView>(`?${new URLSearchParams({ ...of, part: 'log' })}`);
  const blocks = useMemo(() => (view && view.text !== '' ? withMore([], plainText(view.text), SHOWN_MAX) : []), [view]);
  if (ended) return <Failed error={ended} />;
  if (!view) return <Loading away={away} />;
  return (
    <>
      <Away text={away} />
      <Tail blocks={blocks} label={label} otherwise="It wrote nothing yet." />
      {view.isCut && <p className="more hint">the end of it; slipway pods logs and slipway logs have more</p>}
    </>
  );
}
