/** A button that copies a text to the clipboard, and says whether that worked. */
import { useState } from 'react';

/** Shows the button. */
export function CopyButton({ text, className }: { text: string; className?: string }) {
  const [status, setStatus] = useState('');
  const copy = (): void => {
    const fail = (): void =>
      setStatus('This browser does not let the page copy: select the text and copy it yourself.');
    // Browsers offer the clipboard only to pages loaded by TLS or from localhost.
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
