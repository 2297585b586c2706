/**
 * The Releases tab: the versions of an endpoint, what changed, who changed it and when. Values are not stored, because
 * they may be secret.
 */
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReleaseView } from '../../../views.ts';
import { ask } from '../lib/api.ts';
import { moment } from '../lib/format.ts';
import { Badge, Empty, Failed, Loading, Panel } from '../ui/parts.tsx';

const WORDS: Readonly<Record<string, string>> = {
  CreateEndpoint: 'made, with all its settings',
  UpdateEndpoint: 'changed',
  RestartEndpoint: 'workers replaced by hand',
  UpdateTemplate: 'its template changed',
  RollBackEndpoint: 'serves again, after a rollback',
};
const OUTCOMES: Readonly<Record<string, readonly [word: string, tone?: 'good' | 'warn' | 'bad']>> = {
  ROLLING: ['rolling out', 'warn'],
  HELD: ['held: it does not start', 'bad'],
  ROLLED_BACK: ['rolled back', 'warn'],
  COMPLETE: ['served'],
};
const CURRENT = <Badge word="current" tone="good" />;
/** Most releases of one request. */
const PAGE = 50;

function outcomeBadge(outcome: string) {
  const [word, tone] = OUTCOMES[outcome] ?? [];
  return word === undefined ? null : <Badge word={word} tone={tone} />;
}

/** Shows the tab. */
export function Releases({ id }: { id: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['releases', id],
    initialPageParam: 0,
    queryFn: ({ pageParam }) => ask<ReleaseView[]>('GET', `/api/endpoints/${id}/releases?before=${pageParam}`),
    getNextPageParam: (page) => (page.length < PAGE ? undefined : page.at(-1)!.id),
  });
  if (error)
    return (
      <Panel title="Releases">
        <Failed error={error} again={() => void refetch()} />
      </Panel>
    );
  if (!data) return <Loading />;
  const releases = data.pages.flat();
  const newest = releases[0]?.version;
  return (
    <Panel title="Releases" aside="latest first">
      {releases.length === 0 ? (
        <Empty title="No change has been recorded yet." />
      ) : (
        <ol className="releases">
          {releases.map(
            ({ id: key, version, isNew, atMs, keyId, action, fields, outcome, outcomeReason, imageDigest }) => (
              <li key={key}>
                <strong>Version {version}</strong> {isNew && version === newest && CURRENT}{' '}
                {isNew && outcomeBadge(outcome)}{' '}
                {isNew || action === 'RollBackEndpoint' ? null : <Badge word="no worker replaced" />}{' '}
                {WORDS[action] ?? action}
                <p className="hint">
                  <time dateTime={new Date(atMs).toISOString()}>{moment(atMs)}</time> ·{' '}
                  {keyId === 'root' ? (
                    'the operator'
                  ) : (
                    <>
                      key <code>{keyId}</code>
                    </>
                  )}
                  {fields.length > 0 && action !== 'CreateEndpoint' && <> · {fields.join(', ')}</>}
                  {imageDigest !== '' && (
                    <>
                      {' '}
                      · image <code title={imageDigest}>{imageDigest.replace(/^sha256:/, '').slice(0, 12)}</code>
                    </>
                  )}
                </p>
                {outcomeReason !== '' && <p className="hint">{outcomeReason}</p>}
              </li>
            ),
          )}
        </ol>
      )}
      {hasNextPage && (
        <div className="more">
          <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show earlier releases
          </button>
        </div>
      )}
    </Panel>
  );
}
