/** The inputs that a request to a load-balancing endpoint is written in. */
import type { LbRequest } from './lb-request.ts';
import { METHODS, mayHaveBody } from './lb-request.ts';

interface Part {
  request: LbRequest;
  /** Takes the changed parts of the request. */
  change: (part: Partial<LbRequest>) => void;
  /** Attributes that mark the inputs as wrong. */
  judged: { 'aria-invalid': boolean; 'aria-describedby'?: string };
}

/** Shows all inputs. `isWrong` marks them as wrong; the message is the element `fault`. */
export function RequestFields({
  request,
  onChange,
  isWrong,
  onSend,
}: {
  request: LbRequest;
  onChange: (request: LbRequest) => void;
  isWrong: boolean;
  onSend: () => void;
}) {
  const judged = { 'aria-invalid': isWrong, ...(isWrong ? { 'aria-describedby': 'fault' } : {}) };
  const part = { request, judged, change: (changed: Partial<LbRequest>) => onChange({ ...request, ...changed }) };
  return (
    <div className="asked">
      <div className="line">
        <MethodField {...part} />
        <PathField {...part} onSend={onSend} />
      </div>
      <HeadersField {...part} />
      {mayHaveBody(request.method) ? (
        <BodyField {...part} />
      ) : (
        <p className="hint">A {request.method} request has no body.</p>
      )}
    </div>
  );
}

function MethodField({ request, change }: Part) {
  return (
    <div>
      <label htmlFor="method">Method</label>
      <select id="method" value={request.method} onChange={({ target }) => change({ method: target.value })}>
        {[...new Set([...METHODS, request.method])].map((word) => (
          <option key={word}>{word}</option>
        ))}
      </select>
    </div>
  );
}

/** Enter sends the request; the form around it sends at Ctrl+Enter. */
function PathField({ request, change, judged, onSend }: Part & { onSend: () => void }) {
  return (
    <div className="wide">
      <label htmlFor="path">Path</label>
      <input
        id="path"
        className="code"
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        value={request.path}
        {...judged}
        onChange={({ target }) => change({ path: target.value })}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) onSend();
        }}
      />
    </div>
  );
}

function HeadersField({ request, change, judged }: Part) {
  return (
    <div>
      <label htmlFor="headers">Headers</label>
      <textarea
        id="headers"
        className="code"
        rows={3}
        spellCheck={false}
        placeholder="Accept: text/event-stream"
        value={request.headers}
        {...judged}
        onChange={({ target }) => change({ headers: target.value })}
      />
    </div>
  );
}

function BodyField({ request, change, judged }: Part) {
  return (
    <div>
      <div className="line">
        <label htmlFor="body">Body</label>
        <label htmlFor="kind" className="spoken">
          Kind of the body
        </label>
        <select
          id="kind"
          value={request.kind}
          onChange={({ target }) => change({ kind: target.value === 'text' ? 'text' : 'json' })}
        >
          <option value="json">as JSON</option>
          <option value="text">as text</option>
        </select>
      </div>
      <textarea
        id="body"
        className="code"
        rows={10}
        spellCheck={false}
        value={request.body}
        {...judged}
        onChange={({ target }) => change({ body: target.value })}
      />
    </div>
  );
}
