/** The "Playground" tab: the OpenAI routes of an endpoint, tried with the session of the page. */
import { useState } from 'react';
import { useSession } from '../../lib/session.tsx';
import { Empty, Panel } from '../../ui/parts.tsx';
import { Chat } from './chat.tsx';
import { Embeddings } from './embeddings.tsx';
import { Images } from './images.tsx';
import type { OpenaiEndpoint } from './openai-send.ts';
import { useModels } from './use-models.ts';

const PARTS = [
  ['chat', 'Chat', Chat],
  ['embeddings', 'Embeddings', Embeddings],
  ['images', 'Images', Images],
] as const;

/** Shows the tab. */
export function Playground({ endpoint }: { endpoint: OpenaiEndpoint }) {
  const [part, setPart] = useState<string>('chat');
  const [written, setModel] = useState<string>();
  const { names, served } = useModels(endpoint.id);
  const { jobs } = useSession();
  if (jobs !== 'write')
    return (
      <Panel title="Playground">
        <Empty title="This key may not send requests.">Sign in with a key that may.</Empty>
      </Panel>
    );
  const model = written ?? served;
  return (
    <>
      <div className="tools playground">
        <fieldset className="states">
          <legend className="spoken">Route</legend>
          {PARTS.map(([name, text]) => (
            <button key={name} type="button" aria-pressed={part === name} onClick={() => setPart(name)}>
              {text}
            </button>
          ))}
        </fieldset>
        <label className="field">
          Model{' '}
          <input
            list="models"
            value={model}
            placeholder="name of the model"
            onChange={({ target }) => setModel(target.value)}
          />
        </label>
        <datalist id="models">
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
      {PARTS.map(([name, , Part]) => part === name && <Part key={name} endpoint={endpoint} model={model} />)}
    </>
  );
}
