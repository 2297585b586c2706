/** Images from a prompt. */
import { useState } from 'react';
import { saveFile } from '../../lib/save-file.ts';
import { Panel } from '../../ui/parts.tsx';
import type { ModelChoice } from './model-choice.ts';
import { askOpenai } from './openai-send.ts';
import { RunBar } from './run-bar.tsx';
import { useRun } from './use-run.ts';
import { ViewCode } from './view-code.tsx';

/** Types of images by the begin of their base64. Only these are shown as images. */
const TYPES = [
  ['iVBORw0KGgo', 'png'],
  ['/9j/', 'jpeg'],
  ['UklGR', 'webp'],
  ['R0lGOD', 'gif'],
] as const;
const PROMPT = 'a lighthouse at dusk';
const SIZES = ['', '256x256', '512x512', '1024x1024', '1536x1024', '1024x1536'] as const;

/** An image of an answer: base64, or the address where it is. */
interface Picture {
  data: string;
  url: string;
}

/** Shows the form and the images. */
export function Images({ endpoint, model }: ModelChoice) {
  const [prompt, setPrompt] = useState(PROMPT);
  const [size, setSize] = useState('');
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const run = useRun();
  const request = {
    route: '/images/generations',
    body: { model, prompt, ...(size === '' ? {} : { size }), response_format: 'b64_json' },
  };
  const send = (): void => {
    if (run.isRunning || prompt.trim() === '') return;
    setPictures([]);
    run.start(async (signal) => {
      setPictures(picturesOf(await askOpenai(endpoint, request, signal)));
      return '';
    });
  };
  return (
    <>
      <Panel title="Images">
        <div
          className="body asked"
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
          }}
        >
          <div>
            <label htmlFor="prompt">Prompt</label>
            <textarea id="prompt" rows={3} value={prompt} onChange={({ target }) => setPrompt(target.value)} />
          </div>
          <div>
            <label htmlFor="size">Size</label>
            <select id="size" value={size} onChange={({ target }) => setSize(target.value)}>
              {SIZES.map((word) => (
                <option key={word} value={word}>
                  {word === '' ? 'the worker’s default' : word}
                </option>
              ))}
            </select>
          </div>
          <RunBar run={run} isReady={prompt.trim() !== ''} onSend={send} />
        </div>
        <ul className="pictures">
          {pictures.map((picture, place) => (
            <li key={place}>
              <Shown picture={picture} alt={prompt} />
            </li>
          ))}
        </ul>
      </Panel>
      <ViewCode endpoint={endpoint} request={request} />
    </>
  );
}

/** Shows an image. One at another address is only named: the page loads nothing from elsewhere. */
function Shown({ picture: { data, url }, alt }: { picture: Picture; alt: string }) {
  if (data === '')
    return (
      <a href={url} rel="noreferrer noopener" target="_blank">
        {url}
      </a>
    );
  const type = TYPES.find(([begin]) => data.startsWith(begin))?.[1];
  const save = (): void => saveFile(blobOf(data), `image.${type ?? 'bin'}`);
  return (
    <>
      {type === undefined ? (
        <p>The answer is not an image that a browser shows.</p>
      ) : (
        <img src={`data:image/${type};base64,${data}`} alt={alt} />
      )}
      <button type="button" onClick={save}>
        Download
      </button>
    </>
  );
}

function blobOf(base64: string): Blob {
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], {
    type: 'application/octet-stream',
  });
}

/** Returns the images of an answer. Throws an Error if it has none. */
function picturesOf({ data }: Record<string, unknown>): Picture[] {
  const pictures = (Array.isArray(data) ? data : []).flatMap((item) => {
    const { b64_json: inside, url } = (item ?? {}) as { b64_json?: unknown; url?: unknown };
    if (typeof inside === 'string') return [{ data: inside, url: '' }];
    return typeof url === 'string' && /^https?:/.test(url) ? [{ data: '', url }] : [];
  });
  if (pictures.length === 0) throw new Error('The answer has no images.');
  return pictures;
}
