/** Buttons of an endpoint's owner: restart its workers, pause and resume it, and make another one like it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useLocation } from 'wouter';
import type { EndpointRow } from '../../../views.ts';
import type { MadeView, ReleaseView } from '../../../views-of-settings.ts';
import { ask } from '../lib/api.ts';
import { newId } from '../lib/new-id.ts';
import { useSession } from '../lib/session.tsx';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';

/** Workers after a pause whose earlier number is not known. */
const WORKERS_MAX_DEFAULT = 3;

/** Shows the buttons; nothing for keys that may not change endpoints. */
export function OwnerActions({ row }: { row: EndpointRow }) {
  if (useSession().manage !== 'write') return null;
  return (
    <div className="actions">
      <DialogButton text="Restart">{(close) => <Restart row={row} onClose={close} />}</DialogButton>
      {row.workersMax === 0 ? (
        <DialogButton text="Resume">{(close) => <Resume row={row} onClose={close} />}</DialogButton>
      ) : (
        <DialogButton text="Pause">{(close) => <Pause row={row} onClose={close} />}</DialogButton>
      )}
      <DialogButton text="Duplicate">{(close) => <Duplicate row={row} onClose={close} />}</DialogButton>
    </div>
  );
}

interface ActionProps {
  row: EndpointRow;
  onClose: () => void;
}

function Restart({ row: { id, name }, onClose }: ActionProps) {
  const done = useChanged(id, onClose);
  return (
    <DialogForm
      title={`Restart ${name}?`}
      action="Restart it"
      onSubmit={() => ask('POST', `/api/endpoints/${id}/restart`, {}).then(done)}
      onClose={onClose}
    >
      <p className="body">
        All its workers are replaced by new ones. Each finishes its jobs first, and stops when a new one is ready in its
        place. A version that was held is tried again.
      </p>
    </DialogForm>
  );
}

function Pause({ row: { id, name, type }, onClose }: ActionProps) {
  const done = useChanged(id, onClose);
  const settings = { workersMin: 0, workersMax: 0 };
  return (
    <DialogForm
      title={`Pause ${name}?`}
      action="Pause it"
      onSubmit={() => ask('PATCH', `/api/endpoints/${id}/settings`, { settings }).then(done)}
      onClose={onClose}
    >
      <p className="body">
        Its workers stop, and none is started until you resume it.{' '}
        {type === 'LB' ? 'Until then requests fail.' : 'Until then jobs are accepted and wait.'}
      </p>
    </DialogForm>
  );
}

function Resume({ row: { id, name }, onClose }: ActionProps) {
  const before = useWorkersBefore(id);
  const [min, setMin] = useState<number>();
  const [max, setMax] = useState<number>();
  const done = useChanged(id, onClose);
  const settings = { workersMin: min ?? before.workersMin, workersMax: max ?? before.workersMax };
  const number = (label: string, value: number, from: number, set: (value: number) => void) => (
    <div>
      <label htmlFor={`resume-${from}`}>{label}</label>
      <input
        id={`resume-${from}`}
        type="number"
        required
        min={from}
        max={10_000}
        value={Number.isNaN(value) ? '' : value}
        onChange={({ target }) => set(target.valueAsNumber)}
      />
    </div>
  );
  return (
    <DialogForm
      title={`Resume ${name}`}
      action="Resume it"
      onSubmit={() => ask('PATCH', `/api/endpoints/${id}/settings`, { settings }).then(done)}
      onClose={onClose}
    >
      <div className="form">
        {number('Workers kept warm', settings.workersMin, 0, setMin)}
        {number('Most workers', settings.workersMax, 1, setMax)}
      </div>
    </DialogForm>
  );
}

function Duplicate({ row: { id, name }, onClose }: ActionProps) {
  const [copy, setCopy] = useState(`${name} copy`);
  const requestId = useRef({ name: '', id: '' });
  const [, go] = useLocation();
  const queries = useQueryClient();
  const duplicate = async (): Promise<void> => {
    if (requestId.current.name !== copy) requestId.current = { name: copy, id: newId() };
    const asked = { name: copy, requestId: requestId.current.id };
    const made = await ask<MadeView>('POST', `/api/endpoints/${id}/duplicate`, asked);
    onClose();
    await queries.invalidateQueries({ queryKey: ['list'] });
    go(`/endpoints/${made.id}/settings`);
  };
  return (
    <DialogForm title={`Duplicate ${name}`} action="Duplicate it" onSubmit={duplicate} onClose={onClose}>
      <div className="form">
        <div>
          <label htmlFor="copy-name">Name of the copy</label>
          <input
            id="copy-name"
            required
            maxLength={191}
            value={copy}
            onChange={({ target }) => setCopy(target.value)}
          />
          <p className="hint">
            It gets all settings. It shares the template, or gets a copy of what {name} alone runs. Jobs and the secret
            of webhooks are not copied.
          </p>
        </div>
      </div>
    </DialogForm>
  );
}

/** Returns the numbers of workers before the latest pause, as its release recorded them. */
function useWorkersBefore(id: string): { workersMin: number; workersMax: number } {
  const { data } = useQuery({
    queryKey: ['workers-before', id],
    queryFn: () => ask<readonly ReleaseView[]>('GET', `/api/endpoints/${id}/releases`),
    gcTime: 0,
  });
  const pause = data?.find(({ values }) =>
    values.some(({ field, newJson }) => field === 'workersMax' && newJson === '0'),
  );
  const before = (field: string, otherwise: number): number => {
    const old = Number(pause?.values.find((value) => value.field === field)?.oldJson ?? otherwise);
    return Number.isInteger(old) ? old : otherwise;
  };
  return { workersMin: before('workersMin', 0), workersMax: before('workersMax', WORKERS_MAX_DEFAULT) };
}

function useChanged(id: string, onClose: () => void): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    onClose();
    await queries.invalidateQueries({ queryKey: ['settings', id] });
    await queries.invalidateQueries({ queryKey: ['releases', id] });
  };
}
