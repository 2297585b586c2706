/** All lists that are tables and no more: what each asks for and shows stands in KINDS. */
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ListView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Empty, Failed, Loading, Panel } from '../parts.tsx';
import { RowsTable } from '../rows-table.tsx';
import type { Row } from '../rows-table.tsx';

interface Kind {
  title: string;
  /** A bare list of REST, or a page of the console's own. */
  path: string;
  columns: readonly string[];
  /** What there would be, and how one gets it. */
  empty: string;
}

const KINDS: Readonly<Record<string, Kind>> = {
  templates: {
    title: 'Templates', path: '/api/v1/templates', columns: ['name', 'id', 'imageName', 'isServerless', 'isPublic', 'containerDiskInGb', 'volumeInGb'],
    empty: 'Templates say what workers and pods run: npx slipway templates create --help.',
  },
  pods: {
    title: 'Pods', path: '/api/v1/pods', columns: ['name', 'id', 'desiredStatus', 'image', 'gpuCount', 'machineId', 'costPerHr', 'lastStatusChange'],
    empty: 'Pods are processes that go on running: npx slipway pods create --help.',
  },
  volumes: {
    title: 'Network volumes', path: '/api/v1/networkvolumes', columns: ['name', 'id', 'size', 'dataCenterId'],
    empty: 'Network volumes outlive workers and pods: npx slipway volumes create --help.',
  },
  registries: {
    title: 'Registry credentials', path: '/api/v1/containerregistryauth', columns: ['name', 'id'],
    empty: 'With them machines pull private images: npx slipway registry-auths create --help.',
  },
  keys: {
    title: 'Keys', path: '/api/keys', columns: ['name', 'id', 'may', 'endpoints', 'belongsTo', 'created', 'revoked'],
    empty: 'npx slipway keys create --help',
  },
  audit: { title: 'Audit', path: '/api/audit', columns: ['time', 'action', 'subject', 'fields', 'key', 'account'], empty: 'Nothing was changed yet.' },
  accounts: {
    title: 'Accounts', path: '/api/accounts', columns: ['name', 'id', 'created', 'workers', 'gpus', 'queuedJobs', 'requests', 'gpuWeight'],
    empty: 'npx slipway accounts create --help',
  },
  usage: {
    title: 'Usage of the last 30 days', path: '/api/v1/billing/endpoints?bucketSize=day', columns: ['time', 'endpointId', 'timeBilledMs', 'amount'],
    empty: 'No worker ran in that time.',
  },
};

/** The page. */
export default function ListPage({ kind }: { kind: string }) {
  const known = KINDS[kind];
  return known ? <List kind={known} /> : <><h1>Not here</h1><Empty title="There is no such page." /></>;
}

function List({ kind: { title, path, columns, empty } }: { kind: Kind }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['list', path], initialPageParam: '', queryFn: ({ pageParam }) => read(path, pageParam), getNextPageParam: ({ next }) => next || undefined,
  });
  const rows = data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <>
      <h1>{title}</h1>
      <Panel title={title} aside={data && `${rows.length}${hasNextPage ? ' and more' : ''}`}>
        {error ? <Failed error={error} again={() => void refetch()} /> : !data ? <Loading />
          : rows.length === 0 ? <Empty title="There is none."><code>{empty}</code></Empty> : <RowsTable rows={rows} columns={columns} name={title} />}
        {hasNextPage && <div className="more"><button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show more</button></div>}
      </Panel>
    </>
  );
}

async function read(path: string, page: string): Promise<{ rows: readonly Row[]; next: string }> {
  const answer = await ask<readonly Row[] | ListView>('GET', page === '' ? path : `${path}?page=${encodeURIComponent(page)}`);
  return 'rows' in answer ? answer : { rows: answer, next: '' };
}
