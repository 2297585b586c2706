/** A button that copies a text to the clipboard, and says whether that worked. */
import { useState } from 'react';

/** Shows the button. A function for `text` is called when the user copies. `spoken`: its object, for screen readers. */
export function CopyButton({
  text,
  className,
  spoken,
}: {
  text: string | (() => Promise<string>);
  className?: string;
  spoken?: string;
}) {
  const [status, setStatus] = useState('');
  const copy = (): void => {
    const fail = (): void =>
      setStatus('This browser does not let the page copy: select the text and copy it yourself.');
    // Browsers offer the clipboard only to pages loaded by TLS or from localhost.
    if (navigator.clipboard as Clipboard | undefined)
      Promise.resolve(typeof text === 'string' ? text : text())
        .then((whole) => navigator.clipboard.writeText(whole))
        .then(() => setStatus('Copied.'), fail);
    else fail();
  };
  return (
    <>
      <button type="button" className={className} onClick={copy}>
        Copy{spoken && <span className="spoken"> {spoken}</span>}
      </button>{' '}
      <span role="status" className="hint">
        {status}
      </span>
    </>
  );
}
