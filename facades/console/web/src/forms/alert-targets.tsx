/** Where problems are sent: the addresses of an account, and what can be done with each. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AlertTargetKindName, AlertTargetView, AlertTestView } from '../../../views-of-alerts.ts';
import { ask } from '../lib/api.ts';
import { moment, recently } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { DialogButton, DialogForm } from '../ui/dialog.tsx';
import { ActionsHead, Badge, Empty, Failed, Loading, Panel } from '../ui/parts.tsx';
import { Remove } from './remove.tsx';

const PATH = '/api/alert-targets';
const KEY = ['list', PATH];
const HOUR_MS = 3_600_000;
/** Lengths of a silence that can be chosen, in milliseconds. */
const SILENCES = [
  [HOUR_MS, 'an hour'],
  [4 * HOUR_MS, '4 hours'],
  [24 * HOUR_MS, 'a day'],
  [7 * 24 * HOUR_MS, '7 days'],
  [30 * 24 * HOUR_MS, '30 days'],
] as const;

/** Shows the addresses. */
export function AlertTargets() {
  const mayChange = useSession().manage === 'write';
  const { data, error, refetch } = useQuery({
    queryKey: KEY,
    queryFn: () => ask<AlertTargetView[]>('GET', PATH),
  });
  return (
    <Panel
      title="Where problems are sent"
      aside={
        mayChange && (
          <DialogButton text="New address" className="main">
            {(close) => <NewTarget onClose={close} />}
          </DialogButton>
        )
      }
    >
      {error ? (
        <Failed error={error} again={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.length === 0 ? (
        <Empty title="Nowhere yet.">
          A webhook, a Slack channel or a mailbox gets a message when a problem has lasted for a minute, and when it is
          over.
        </Empty>
      ) : (
        <div className="scroll" tabIndex={0} role="region" aria-label="Addresses, scrolls sideways">
          <table className="rows">
            <thead>
              <tr>
                <th>Name</th>
                <th>Sends to</th>
                <th>State</th>
                <th>Last message</th>
                {mayChange && <ActionsHead />}
              </tr>
            </thead>
            <tbody>
              {data.map((target) => (
                <Row key={target.id} target={target} mayChange={mayChange} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Row({ target, mayChange }: { target: AlertTargetView; mayChange: boolean }) {
  const { id, name, kind, host, silentUntilMs, deliveredMs, lastError } = target;
  return (
    <tr>
      <th scope="row">
        <bdi>{name}</bdi>
      </th>
      <td className="wide">
        {kind === 'email' ? `e-mail to ${host}` : `${kind === 'slack' ? 'Slack' : 'webhook'} at ${host}`}
      </td>
      <td>
        {silentUntilMs > 0 ? (
          <Badge word={`silent until ${recently(silentUntilMs)}`} tone="warn" />
        ) : lastError === '' ? (
          <Badge word="on" tone="good" />
        ) : (
          <Badge word="failing" tone="bad" />
        )}
      </td>
      <td className="error" title={lastError}>
        {lastError || (deliveredMs > 0 ? `accepted ${moment(deliveredMs)}` : 'none yet')}
      </td>
      {mayChange && (
        <td className="acts">
          <span className="choices">
            <TestTarget target={target} />
            <Silence target={target} />
            <Remove id={id} name={name} list={PATH} note="Messages that wait for it are dropped." />
          </span>
        </td>
      )}
    </tr>
  );
}

function NewTarget({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<AlertTargetKindName>('webhook');
  const [url, setUrl] = useState('');
  const queries = useQueryClient();
  const create = async (): Promise<void> => {
    await ask('POST', PATH, { name, kind, url });
    onClose();
    await queries.invalidateQueries({ queryKey: KEY });
  };
  return (
    <DialogForm title="New address" action="Create" onSubmit={create} onClose={onClose}>
      <div className="form">
        <div>
          <label htmlFor="target-name">Name</label>
          <input
            id="target-name"
            required
            maxLength={191}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </div>
        <div>
          <label htmlFor="target-kind">Format</label>
          <select id="target-kind" value={kind} onChange={({ target }) => setKind(target.value as AlertTargetKindName)}>
            <option value="webhook">JSON, to a webhook</option>
            <option value="slack">Slack, Mattermost and their like</option>
            <option value="email">E-mail</option>
          </select>
        </div>
        <div>
          <label htmlFor="target-url">{kind === 'email' ? 'Mail address' : 'URL'}</label>
          <input
            id="target-url"
            type={kind === 'email' ? 'email' : 'url'}
            required
            maxLength={2_048}
            autoComplete="off"
            placeholder={kind === 'email' ? 'on-call@example.com' : 'https://'}
            value={url}
            onChange={({ target }) => setUrl(target.value)}
          />
          <p className="hint">
            {kind === 'email'
              ? 'One address, of a person or a list.'
              : 'It is stored encrypted, and only its host is shown again.'}
          </p>
        </div>
      </div>
    </DialogForm>
  );
}

/** Sends a test message and shows what came of it. */
function TestTarget({ target: { id, name } }: { target: AlertTargetView }) {
  const [isTaken, setIsTaken] = useState(false);
  const queries = useQueryClient();
  const test = async (): Promise<void> => {
    const { error } = await ask<AlertTestView>('POST', `${PATH}/${id}/test`, {});
    await queries.invalidateQueries({ queryKey: KEY });
    if (error !== '') throw new Error(`The test message was not accepted: ${error}.`);
    setIsTaken(true);
  };
  return (
    <DialogButton text="Test" spoken={name}>
      {(close) => {
        const end = (): void => {
          setIsTaken(false);
          close();
        };
        return (
          <DialogForm
            title={`Test ${name}`}
            action={isTaken ? 'Send another one' : 'Send a test message'}
            back="Close"
            onSubmit={test}
            onClose={end}
          >
            <p className="body" role="status">
              {isTaken
                ? `${name} has accepted the test message.`
                : 'It is sent once, also while the address is silent.'}
            </p>
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}

function Silence({ target: { id, name, silentUntilMs } }: { target: AlertTargetView }) {
  const [silenceMs, setSilenceMs] = useState<number>(HOUR_MS);
  const queries = useQueryClient();
  const silence = async (ms: number): Promise<void> => {
    await ask('POST', `${PATH}/${id}/silence`, { silenceMs: ms });
    await queries.invalidateQueries({ queryKey: KEY });
  };
  const isSilent = silentUntilMs > 0;
  return (
    <DialogButton text={isSilent ? 'End silence' : 'Silence'} spoken={name}>
      {(close) => (
        <DialogForm
          title={isSilent ? `End the silence of ${name}?` : `Silence ${name}`}
          action={isSilent ? 'End it' : 'Silence it'}
          onSubmit={() => silence(isSilent ? 0 : silenceMs).then(close)}
          onClose={close}
        >
          {isSilent ? (
            <p className="body">It gets messages of problems that begin from now on.</p>
          ) : (
            <div className="form">
              <div>
                <label htmlFor="silence-for">For</label>
                <select
                  id="silence-for"
                  value={silenceMs}
                  onChange={({ target }) => setSilenceMs(Number(target.value))}
                >
                  {SILENCES.map(([ms, text]) => (
                    <option key={ms} value={ms}>
                      {text}
                    </option>
                  ))}
                </select>
                <p className="hint">
                  It gets no messages about problems that begin or end in this time. The history has them.
                </p>
              </div>
            </div>
          )}
        </DialogForm>
      )}
    </DialogButton>
  );
}
