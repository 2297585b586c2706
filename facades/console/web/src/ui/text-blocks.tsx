/**
 * Long texts in blocks. Browsers are slow to lay out a million characters, and do it again at each addition. Blocks
 * outside of the viewport cost nothing (styles/parts.css).
 */
import { memo, useEffect, useRef } from 'react';

/** A block of text. */
export interface Block {
  /** Stays the same when earlier blocks are dropped. */
  key: number;
  text: string;
}

/** A block ends with the first line end after `BLOCK` characters. A line longer than `LINE_MAX` is cut. */
const BLOCK = 8_000;
const LINE_MAX = 40_000;

/** Returns the text of blocks. */
export function wholeText(blocks: readonly Block[]): string {
  return blocks.map(({ text }) => text).join('');
}

/** Returns the blocks with `text` added. The oldest blocks are dropped above `charactersMax`. */
export function withMore(blocks: readonly Block[], text: string, charactersMax: number): readonly Block[] {
  const last = blocks.at(-1) ?? { key: 0, text: '' };
  const grown = [...blocks.slice(0, -1), ...cut(last.text + text.slice(-charactersMax), last.key)];
  let characters = grown.reduce((sum, block) => sum + block.text.length, 0);
  while (grown.length > 1 && characters > charactersMax) characters -= grown.shift()!.text.length;
  return grown;
}

function cut(text: string, firstKey: number): Block[] {
  const blocks: Block[] = [];
  let rest = text;
  while (rest.length > BLOCK) {
    const line = rest.indexOf('\n', BLOCK) + 1;
    const end = line > 0 && line <= LINE_MAX ? line : LINE_MAX;
    if (end >= rest.length) break;
    blocks.push({ key: firstKey + blocks.length, text: rest.slice(0, end) });
    rest = rest.slice(end);
  }
  return [...blocks, { key: firstKey + blocks.length, text: rest }];
}

const Piece = memo(({ text }: { text: string }) => <span className="block">{text}</span>);

/** Shows a complete text. */
export function Blocks({ text, label }: { text: string; label: string }) {
  const pieces = cut(text, 0);
  return (
    <pre className="viewer" tabIndex={0} role="group" aria-label={label}>
      {pieces.map(({ key, text: piece }) => (
        <Piece key={key} text={piece} />
      ))}
    </pre>
  );
}

/** Shows a growing text. If the end is visible, it stays visible. */
export function Tail({ blocks, label, otherwise }: { blocks: readonly Block[]; label: string; otherwise: string }) {
  const element = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const top = useRef(0);
  useEffect(() => {
    const goToEnd = (): void => {
      if (isAtEnd.current && element.current) element.current.scrollTop = element.current.scrollHeight;
    };
    goToEnd();
    // Blocks that became visible may be taller than estimated.
    const again = requestAnimationFrame(goToEnd);
    return () => cancelAnimationFrame(again);
  }, [blocks]);
  return (
    <pre
      className="viewer"
      ref={element}
      tabIndex={0}
      role="group"
      aria-label={label}
      aria-live="off"
      onScroll={({ currentTarget: seen }) => {
        // Only scrolling up leaves the end; growth does not.
        if (seen.scrollHeight - seen.scrollTop - seen.clientHeight < 40) isAtEnd.current = true;
        else if (seen.scrollTop < top.current) isAtEnd.current = false;
        top.current = seen.scrollTop;
      }}
    >
      {blocks.length === 0 ? otherwise : blocks.map(({ key, text }) => <Piece key={key} text={text} />)}
    </pre>
  );
}

/**
 * Returns a function that calls `call` once before the next frame, however often it is called. It waits while the tab
 * is hidden.
 */
export function onNextFrame(call: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      call();
    });
  };
}
