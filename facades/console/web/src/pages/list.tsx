/** All lists that are tables and no more: what each asks for and shows stands in KINDS. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { ListView } from '../../../views.ts';
import { ask } from '../api.ts';
import { Create, FORMS } from '../create.tsx';
import { DialogButton, DialogForm } from '../dialog.tsx';
import { NewKey } from '../new-key.tsx';
import { Empty, Failed, Loading, Panel } from '../parts.tsx';
import { Remove } from '../remove.tsx';
import { RowsTable } from '../rows-table.tsx';
import type { Row } from '../rows-table.tsx';
import { useSession } from '../session.tsx';

interface Kind {
  title: string;
  /** A bare list of REST, or a page of the console's own. */
  path: string;
  columns: readonly string[];
  /** What there would be, and how one gets it. */
  empty: string;
  /** The form that makes one; what has a form can be deleted too. */
  form?: 'template' | 'volume' | 'registry' | 'key';
}

const KINDS: Readonly<Record<string, Kind>> = {
  templates: {
    title: 'Templates', path: '/api/v1/templates', columns: ['name', 'id', 'imageName', 'isServerless', 'isPublic', 'containerDiskInGb', 'volumeInGb'],
    form: 'template', empty: 'Templates say what workers and pods run: npx slipway templates create --help.',
  },
  pods: {
    title: 'Pods', path: '/api/v1/pods', columns: ['name', 'id', 'desiredStatus', 'image', 'gpuCount', 'machineId', 'costPerHr', 'lastStatusChange'],
    empty: 'Pods are processes that go on running: npx slipway pods create --help.',
  },
  volumes: {
    title: 'Network volumes', path: '/api/v1/networkvolumes', columns: ['name', 'id', 'size', 'dataCenterId'],
    form: 'volume', empty: 'Network volumes outlive workers and pods: npx slipway volumes create --help.',
  },
  registries: {
    title: 'Registry credentials', path: '/api/v1/containerregistryauth', columns: ['name', 'id'],
    form: 'registry', empty: 'With them machines pull private images: npx slipway registry-auths create --help.',
  },
  keys: {
    title: 'Keys', path: '/api/keys', columns: ['name', 'id', 'may', 'endpoints', 'belongsTo', 'created', 'revoked'],
    form: 'key', empty: 'npx slipway keys create --help',
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

function List({ kind: { title, path, columns, empty, form } }: { kind: Kind }) {
  const mayChange = useSession().manage === 'write' && form !== undefined;
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['list', path], initialPageParam: '', queryFn: ({ pageParam }) => read(path, pageParam), getNextPageParam: ({ next }) => next || undefined,
  });
  const actions = mayChange ? (row: Row) => <Act form={form} row={row} list={path} /> : undefined;
  const rows = data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <>
      <div className="title"><h1>{title}</h1>{mayChange && <div className="actions"><New form={form} /></div>}</div>
      <Panel title={title} aside={data && `${rows.length}${hasNextPage ? ' and more' : ''}`}>
        {error ? <Failed error={error} again={() => void refetch()} /> : !data ? <Loading />
          : rows.length === 0 ? <Empty title="There is none."><code>{empty}</code></Empty>
            : <RowsTable rows={rows} columns={columns} name={title} actions={actions} />}
        {hasNextPage && <div className="more"><button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>Show more</button></div>}
      </Panel>
    </>
  );
}

function New({ form }: { form: NonNullable<Kind['form']> }) {
  return (
    <DialogButton text={form === 'key' ? 'New key' : FORMS[form].title} className="main">
      {(close) => (form === 'key' ? <NewKey onClose={close} /> : <Create kind={form} onClose={close} onDone={close} />)}
    </DialogButton>
  );
}

function Act({ form, row, list }: { form: Kind['form']; row: Row; list: string }) {
  const { id, name, revoked } = row as { id: string; name: string; revoked?: string };
  if (form !== 'key') return <Remove id={id} name={name} list={list} />;
  return revoked ? null : <Revoke id={id} name={name} />;
}

function Revoke({ id, name }: { id: string; name: string }) {
  const queries = useQueryClient();
  return (
    <DialogButton text="Revoke" className="danger" spoken={name}>
      {(close) => {
        const revoke = async (): Promise<void> => {
          await ask('POST', `/api/keys/${id}/revoke`, {});
          close();
          await queries.invalidateQueries({ queryKey: ['list', '/api/keys'] });
        };
        return (
          <DialogForm title={`Revoke ${name}?`} action="Revoke it" danger onSubmit={revoke} onClose={close}>
            <p className="body">The key <strong>{name}</strong> stops working everywhere within 5 seconds, for good; sessions with it end.</p>
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}

async function read(path: string, page: string): Promise<{ rows: readonly Row[]; next: string }> {
  const answer = await ask<readonly Row[] | ListView>('GET', page === '' ? path : `${path}?page=${encodeURIComponent(page)}`);
  return 'rows' in answer ? answer : { rows: answer, next: '' };
}
