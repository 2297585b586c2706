/**
 * Creates an endpoint in one step: from an image or from a template, with hardware, variables and an example input,
 * which is then sent as the first job.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { nameOfImage } from '../../../../resources/templates/image-name.ts';
import type { FieldView } from '../../../views.ts';
import type { MadeView } from '../../../views-of-settings.ts';
import { ask, sendText } from '../lib/api.ts';
import { faultOf } from '../lib/input-fault.ts';
import { newId } from '../lib/new-id.ts';
import { useSession } from '../lib/session.tsx';
import { DialogForm } from '../ui/dialog.tsx';
import { Failed, Loading } from '../ui/parts.tsx';
import { Field } from './fields.tsx';
import { GroupedFields } from './grouped-fields.tsx';
import { OF_WORKERS, OfferField } from './offers.tsx';
import type { Values } from './outlook.tsx';
import { useFields } from './use-fields.ts';

/** Settings that are shown at once, in this order. The rest is below "More settings". */
const OF_IMAGE = ['imageName', 'name', 'containerRegistryAuthId', 'dockerStartCmd'];
const OF_TEMPLATE = ['name', 'templateId'];
const FIRST = ['type', 'computeType', 'gpuTypeIds', 'gpuCount', 'workersMin', 'workersMax', 'env'];

type Source = 'image' | 'template';

/** Shows the form in its dialog. `onDone` receives the endpoint and its first job, which may be empty. */
export function NewEndpoint({ onDone, onClose }: { onDone: (id: string, job: string) => void; onClose: () => void }) {
  const [source, setSource] = useState<Source>('image');
  const [values, setValues] = useState<Values>({});
  const [input, setInput] = useState('');
  const queries = useQueryClient();
  const mayRun = useSession().jobs === 'write';
  const settings = useFields('endpoint');
  const container = useFields('own-template');
  const create = useCreation();
  const failed = settings.error ?? container.error;
  const fields = source === 'image' ? merged(settings.data, container.data) : settings.data;
  const isQueue = values['type'] !== 'LB';
  const submit = async (): Promise<void> => {
    const asked = isQueue && mayRun ? input.trim() : '';
    // Checked first: a wrong input must not leave an endpoint behind.
    if (asked !== '' && faultOf(asked) !== '') throw new Error(faultOf(asked));
    const given = asked === '' ? values : { ...values, exampleInput: asked };
    const id = await create(bodyOf(source, given, settings.data ?? [], container.data ?? []));
    await queries.invalidateQueries({ queryKey: ['list'] });
    const job = asked === '' ? undefined : await sendText<MadeView>(`/api/v2/${id}/run`, `{"input":${asked}}`);
    onDone(id, job?.id ?? '');
  };
  const change = ({ name }: FieldView, value: unknown): void => {
    const { [name]: _before, ...others } = values;
    const isNone = value === '' || Number.isNaN(value);
    const next = isNone ? others : { ...others, [name]: value };
    const isNamed = values['name'] !== undefined && values['name'] !== nameOfImage(String(values['imageName'] ?? ''));
    setValues(name === 'imageName' && !isNamed ? { ...next, name: nameOfImage(String(value)) } : next);
  };
  const byName = (names: readonly string[]) =>
    names.flatMap((name) => (fields ?? []).filter((field) => field.name === name && isShown(field, values)));
  const shownFirst = [...(source === 'image' ? OF_IMAGE : OF_TEMPLATE), ...FIRST];
  const all = Object.fromEntries((fields ?? []).map(({ name, default: usual }) => [name, values[name] ?? usual]));
  const rest = (fields ?? []).filter(
    ({ name }) => !shownFirst.includes(name) && !['templateId', 'exampleInput'].includes(name),
  );
  return (
    <DialogForm title="New endpoint" action="Deploy" onSubmit={submit} onClose={onClose} isReady={fields !== undefined}>
      {failed ? (
        <Failed error={failed} />
      ) : !fields ? (
        <Loading />
      ) : (
        <>
          <SourceChoice source={source} onChange={setSource} />
          <div className="form">
            {byName(shownFirst).map((field) => (
              <FirstField
                key={`${source} ${field.name}`}
                field={{ ...field, required: isRequired(field, source) }}
                value={field.name === 'templateId' ? values['templateId'] : all[field.name]}
                onChange={(value) => change(field, value)}
              />
            ))}
            {isQueue && mayRun && <ExampleInput text={input} onChange={setInput} />}
          </div>
          <details>
            <summary>More settings</summary>
            <GroupedFields fields={rest} values={all} onChange={change} />
          </details>
        </>
      )}
    </DialogForm>
  );
}

function FirstField(props: { field: FieldView; value: unknown; onChange: (value: unknown) => void }) {
  return props.field.name === 'templateId' ? (
    <div className="wide">
      <OfferField {...props} offer={OF_WORKERS} />
    </div>
  ) : (
    <Field {...props} />
  );
}

function SourceChoice({ source, onChange }: { source: Source; onChange: (source: Source) => void }) {
  const choice = (one: Source, text: string) => (
    <label>
      <input type="radio" name="source" checked={source === one} onChange={() => onChange(one)} />
      {text}
    </label>
  );
  return (
    <fieldset className="source">
      <legend>From</legend>
      {choice('image', 'an image')} {choice('template', 'a template')}
    </fieldset>
  );
}

function ExampleInput({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <div className="wide">
      <label htmlFor="example-input">Example input</label>
      <textarea
        id="example-input"
        className="code"
        rows={3}
        spellCheck={false}
        placeholder='{"prompt": "a lighthouse at dusk"}'
        aria-describedby="about-example-input"
        value={text}
        onChange={({ target }) => onChange(target.value)}
      />
      <p className="hint" id="about-example-input">
        A JSON object, which is kept with the endpoint and sent as the first job. Empty: no job is sent.
      </p>
    </div>
  );
}

/** Returns the settings of the endpoint, and of what it alone runs in place of a template. */
function merged(settings: readonly FieldView[] | undefined, container: readonly FieldView[] | undefined) {
  if (!settings || !container) return undefined;
  const own = container.map(({ name }) => name);
  return [...settings.filter(({ name }) => name !== 'templateId' && !own.includes(name)), ...container];
}

function isRequired({ name, required }: FieldView, source: Source): boolean {
  return source === 'image' ? name === 'name' : required && name !== 'name';
}

function isShown({ name }: FieldView, values: Values): boolean {
  return !(values['computeType'] === 'CPU' && ['gpuTypeIds', 'gpuCount'].includes(name));
}

/** Returns the body of the creation. Settings that the form hid are left out. */
function bodyOf(source: Source, values: Values, settings: readonly FieldView[], container: readonly FieldView[]) {
  const own = source === 'image' ? container.map(({ name }) => name) : [];
  const pick = (names: readonly string[]): Values =>
    Object.fromEntries(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]] as const])));
  const given = settings
    .filter((field) => isShown(field, values))
    .map(({ name }) => name)
    .filter((name) => !own.includes(name) && !(source === 'image' && name === 'templateId'));
  return { settings: pick(given), ...(source === 'image' && { template: pick(own) }) };
}

/** Returns the call that creates. The same body sent twice creates one endpoint, whose id is returned both times. */
function useCreation(): (body: object) => Promise<string> {
  const last = useRef({ body: '', requestId: '' });
  return async (body) => {
    const text = JSON.stringify(body);
    if (last.current.body !== text) last.current = { body: text, requestId: newId() };
    const { id } = await ask<MadeView>('POST', '/api/endpoints', { ...body, requestId: last.current.requestId });
    return id;
  };
}
