/**
 * The Releases tab: the versions of an endpoint, what changed from which value to which, who changed it and when, and
 * the way back. Values of variables are not stored, because they may be secret.
 */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { ReleaseView } from '../../../views-of-settings.ts';
import { ask } from '../lib/api.ts';
import { moment } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { textOf } from '../lib/setting-words.ts';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { Badge, Empty, Failed, Loading, Panel } from '../ui/parts.tsx';

const WORDS: Readonly<Record<string, string>> = {
  CreateEndpoint: 'created',
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
          {releases.map((release) => (
            <Entry key={release.id} id={id} release={release} isCurrent={release.isNew && release.version === newest} />
          ))}
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

function Entry({ id, release, isCurrent }: { id: string; release: ReleaseView; isCurrent: boolean }) {
  const { version, isNew, atMs, action, fields, values, outcome, outcomeReason, imageDigest, imageMoved } = release;
  const mayChange = useSession().manage === 'write';
  const isShown = action !== 'CreateEndpoint' && fields.length > 0;
  return (
    <li>
      <strong>Version {version}</strong> {isCurrent && CURRENT} {isNew && outcomeBadge(outcome)}{' '}
      {isNew || action === 'RollBackEndpoint' ? null : <Badge word="no worker replaced" />} {WORDS[action] ?? action}
      {mayChange && isNew && !isCurrent && outcome === 'COMPLETE' && <RollBack id={id} version={version} />}
      <p className="hint">
        <time dateTime={new Date(atMs).toISOString()}>{moment(atMs)}</time> · <Author release={release} />
        {imageDigest !== '' && (
          <>
            {' '}
            · image <code title={imageDigest}>{imageDigest.replace(/^sha256:/, '').slice(0, 12)}</code>
            {imageMoved && ' (the tag has moved since)'}
          </>
        )}
      </p>
      {isShown && (
        <ul className="changes">
          {fields.map((field) => (
            <Change key={field} field={field} value={values.find((value) => value.field === field)} />
          ))}
        </ul>
      )}
      {outcomeReason !== '' && <p className="hint">{outcomeReason}</p>}
    </li>
  );
}

function Author({ release: { keyId, keyName } }: { release: ReleaseView }) {
  if (keyId === 'root') return <>the operator</>;
  return keyName === '' ? (
    <>
      key <code>{keyId}</code>
    </>
  ) : (
    <span title={keyId}>key “{keyName}”</span>
  );
}

/** Shows a setting with its value before and after. */
function Change({ field, value }: { field: string; value: ReleaseView['values'][number] | undefined }) {
  const { oldJson, newJson } = value ?? {};
  const { label, unit = '', scale = 1 } = textOf({ name: field, about: '' });
  const hasUnit = unit !== '' && [oldJson, newJson].some((json) => json !== undefined && json !== 'null');
  const shown = (json: string): string => (scale === 1 || json === 'null' ? json : String(Number(json) / scale));
  return (
    <li>
      {label}
      {oldJson !== undefined && (
        <>
          {' '}
          <del>
            <span className="spoken">from </span>
            {shown(oldJson)}
          </del>
        </>
      )}
      {newJson !== undefined && (
        <>
          {' '}
          <ins>
            <span className="spoken">to </span>
            {shown(newJson)}
          </ins>
        </>
      )}
      {hasUnit && `\u00A0${unit}`}
    </li>
  );
}

function RollBack({ id, version }: { id: string; version: number }) {
  const queries = useQueryClient();
  return (
    <DialogButton text="Roll back" spoken={`to version ${version}`}>
      {(close) => {
        const rollBack = async (): Promise<void> => {
          await ask('POST', `/api/endpoints/${id}/rollback`, { version });
          close();
          await queries.invalidateQueries({ queryKey: ['releases', id] });
        };
        return (
          <DialogForm title={`Roll back to version ${version}?`} action="Roll back" onSubmit={rollBack} onClose={close}>
            <p className="body">
              Workers of version {version} start as they were then and replace the others without a gap. It serves until
              the next release. The settings stay as they are now.
            </p>
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}
