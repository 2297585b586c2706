/** The page of every plain list. `KINDS` has the columns, filters and actions of each. */

import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ListView } from '../../../views.ts';
import { AlertTargets } from '../forms/alert-targets.tsx';
import { Create, FORMS } from '../forms/create.tsx';
import { Edit } from '../forms/edit.tsx';
import { NewKey } from '../forms/new-key.tsx';
import { NewAccount, Price, Quota } from '../forms/operator-forms.tsx';
import type { Editable } from '../forms/outlook.tsx';
import { Remove } from '../forms/remove.tsx';
import { SecretActions } from '../forms/secret-actions.tsx';
import { ask } from '../lib/api.ts';
import { count } from '../lib/format.ts';
import { useIsOperator, useSession } from '../lib/session.tsx';
import { useLive } from '../lib/use-live.ts';
import { DownloadCsv } from '../listing/download-csv.tsx';
import type { Kind } from '../listing/list-kinds.ts';
import { KINDS } from '../listing/list-kinds.ts';
import type { Filter } from '../listing/listing-parts.tsx';
import { Filters, namesOf, Pages, Search } from '../listing/listing-parts.tsx';
import type { Row } from '../listing/rows-table.tsx';
import { RowsTable } from '../listing/rows-table.tsx';
import type { Listing } from '../listing/use-listing.ts';
import { useListing } from '../listing/use-listing.ts';
import { PodActions } from '../pod/actions.tsx';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { Away, Empty, Failed, Loading, Overdue } from '../ui/parts.tsx';

const VOLUME_STAYS =
  'Its files stay on the disks of machines until the operator removes them. Empty it first if they are ' +
  'confidential.';

/** Shows the page. */
export default function ListPage({ kind }: { kind: string }) {
  const known = KINDS[kind];
  return known ? (
    <List kind={known} />
  ) : (
    <>
      <h1>Not found</h1>
      <Empty title="There is no such page." />
    </>
  );
}

function List({ kind }: { kind: Kind }) {
  const isOperator = useIsOperator();
  const filters = (kind.filters ?? []).filter(({ name }) => isOperator || !(kind.ofOperator ?? []).includes(name));
  const listing = useListing(kind.first, namesOf(filters));
  return kind.live === undefined ? (
    <Asked kind={kind} listing={listing} filters={filters} />
  ) : (
    <Live kind={kind} listing={listing} filters={filters} query={`?part=${kind.live}&${listing.query}`} />
  );
}

/** A list with its search and filters. */
interface Chosen {
  kind: Kind;
  listing: Listing;
  filters: readonly Filter[];
}

function Asked(chosen: Chosen) {
  const {
    kind: { path },
    listing: { query },
  } = chosen;
  const { data, error, refetch, failureReason, isPlaceholderData } = useQuery({
    queryKey: ['list', path, query],
    queryFn: () => ask<ListView>('GET', `${path}?${query}`),
    placeholderData: keepPreviousData,
  });
  return (
    <Shown
      {...chosen}
      data={data}
      isOld={isPlaceholderData}
      failed={error && <Failed error={error} again={() => void refetch()} />}
    >
      {data && <Overdue failureReason={failureReason} isPlaceholderData={isPlaceholderData} />}
    </Shown>
  );
}

function Live({ query, ...chosen }: Chosen & { query: string }) {
  const { view, isOld, away, ended } = useLive<ListView>(query);
  return (
    <Shown {...chosen} data={view} isOld={isOld} failed={ended && <Failed error={ended} />} away={away}>
      {view && <Away text={away} />}
    </Shown>
  );
}

/**
 * Shows the list. `isOld` if the rows still match the previous choice; `failed` replaces the rows; `away` is the reason
 * why they do not arrive; `children` are shown above.
 */
function Shown({
  kind,
  listing,
  filters,
  data,
  isOld,
  failed,
  away,
  children,
}: Chosen & {
  data: ListView | undefined;
  isOld: boolean;
  failed: ReactNode;
  away?: string;
  children: ReactNode;
}) {
  const { title, path, form, orders, page, ofOperator = [] } = kind;
  const isOperator = useIsOperator();
  const columns = kind.columns.filter((column) => isOperator || !ofOperator.includes(column));
  const mayChange = useSession().manage === 'write' && form !== undefined;
  const actions = mayChange ? (row: Row) => <Act form={form} row={row} path={path} /> : undefined;
  const isPart = listing.isNarrowed || isOld;
  return (
    <>
      <div className="title">
        <h1>{title}</h1>
        {mayChange && (
          <div className="actions">
            <New form={form} />
          </div>
        )}
      </div>
      {children}
      {kind.hasTargets && <AlertTargets />}
      <section className="panel">
        {(isPart || (data && data.rows.length > 0)) && (
          <Search listing={listing} isWhole={kind.isWhole}>
            <Filters listing={listing} filters={filters} />
            <DownloadCsv title={title} path={path} columns={kind.columns} query={listing.query} />
            {data && !failed && (
              <span className="hint">
                {count(data.rows.length)}
                {data.next === '' && listing.page === 1 ? ' in all' : ' on this page'}
              </span>
            )}
          </Search>
        )}
        {failed ? (
          failed
        ) : !data ? (
          <Loading away={away} />
        ) : data.rows.length > 0 ? (
          <RowsTable rows={data.rows} {...{ isOld, columns, listing, orders, page, actions }} name={title} />
        ) : isPart ? (
          <Empty title="Nothing matches." />
        ) : (
          <Nothing kind={kind} mayChange={mayChange} />
        )}
        {data && <Pages listing={listing} next={data.next} isOld={isOld} />}
      </section>
    </>
  );
}

function Nothing({ kind: { title, empty, command, form }, mayChange }: { kind: Kind; mayChange: boolean }) {
  if (form === undefined) return <Empty title={empty} />;
  return (
    <Empty title={`No ${title.toLowerCase()} yet.`}>
      <p>{empty}</p>
      {mayChange && command && (
        <p>
          Create one above, or with <code>{command}</code>
        </p>
      )}
    </Empty>
  );
}

function New({ form }: { form: NonNullable<Kind['form']> }) {
  const text = { key: 'New key', account: 'New account', price: 'Set a price' };
  return (
    <DialogButton
      text={form === 'key' || form === 'account' || form === 'price' ? text[form] : FORMS[form].title}
      className="main"
    >
      {(close) => {
        switch (form) {
          case 'key':
            return <NewKey onClose={close} />;
          case 'account':
            return <NewAccount onClose={close} />;
          case 'price':
            return <Price onClose={close} />;
          default:
            return <Create kind={form} onClose={close} onDone={close} />;
        }
      }}
    </DialogButton>
  );
}

function Act({ form, row, path }: { form: Kind['form']; row: Row; path: string }) {
  const { id, name, revoked, item } = row as { id: string; name: string; revoked?: string; item: string };
  switch (form) {
    case 'key':
      return revoked ? null : <Revoke id={id} name={name} />;
    case 'account':
      return <Quota row={row} />;
    case 'price':
      return (
        <DialogButton text="Change" spoken={item}>
          {(close) => <Price row={row} onClose={close} />}
        </DialogButton>
      );
    case 'pod':
      return (
        <>
          <Change kind={form} id={id} name={name} shown={path} />
          <PodActions id={id} name={name} isStopped={row['desiredStatus'] !== 'RUNNING'} />
          <Remove id={id} name={name} list={FORMS.pod.path} shown={path} />
        </>
      );
    case 'template':
    case 'volume':
      return (
        <>
          <Change kind={form} id={id} name={name} shown={path} />
          <Remove
            id={id}
            name={name}
            list={FORMS[form].path}
            shown={path}
            note={form === 'volume' ? VOLUME_STAYS : undefined}
          />
        </>
      );
    case 'secret':
      return <SecretActions row={row} list={FORMS.secret.path} shown={path} />;
    case undefined:
      return null;
    default:
      return <Remove id={id} name={name} list={FORMS[form].path} shown={path} />;
  }
}

function Change({ name, ...what }: { kind: Editable; id: string; name: string; shown: string }) {
  return (
    <DialogButton text="Change" spoken={name}>
      {(close) => <Edit {...what} name={name} onClose={close} />}
    </DialogButton>
  );
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
            <p className="body">
              The key <strong>{name}</strong> stops working everywhere within 5 seconds, for good; sessions with it end.
            </p>
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}
