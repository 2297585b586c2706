/** A button that puts a text where one can paste it, and says whether it did. */
import { useState } from 'react';

/** The button; `className`: its own. */
export function CopyButton({ text, className }: { text: string; className?: string }) {
  const [told, setTold] = useState('');
  const copy = (): void => {
    const refused = (): void => setTold('This browser does not let a page copy here: mark it and copy it by hand.');
    // Only pages by TLS, or of this very machine, have it.
    if (navigator.clipboard as Clipboard | undefined)
      navigator.clipboard.writeText(text).then(() => setTold('Copied.'), refused);
    else refused();
  };
  return (
    <>
      <button type="button" className={className} onClick={copy}>
        Copy
      </button>{' '}
      <span role="status" className="hint">
        {told}
      </span>
    </>
  );
}
