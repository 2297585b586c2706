/** A button that puts a text where one can paste it, and says whether it did. */
import { useState } from 'react';

/** The button; `className`: its own. */
export function CopyButton({ text, className }: { text: string; className?: string }) {
  const [status, setStatus] = useState('');
  const copy = (): void => {
    const fail = (): void =>
      setStatus('This browser does not let the page copy: select the text and copy it yourself.');
    // Only pages by TLS, or of this very machine, have it.
    if (navigator.clipboard as Clipboard | undefined)
      navigator.clipboard.writeText(text).then(() => setStatus('Copied.'), fail);
    else fail();
  };
  return (
    <>
      <button type="button" className={className} onClick={copy}>
        Copy
      </button>{' '}
      <span role="status" className="hint">
        {status}
      </span>
    </>
  );
}
