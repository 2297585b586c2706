/**
 * Much text in pieces, each laid out by itself: browsers take long for a text of a million characters, and anew for
 * each that is added to it. Pieces out of sight cost nothing (styles/parts.css).
 */
import { memo, useEffect, useRef } from 'react';

/** A piece. */
export interface Block {
  /** Stays the same while others before it are let go. */
  key: number;
  text: string;
}

/**
 * A piece ends with the first line that ends behind this, or in the middle of a line that is too long, in characters.
 */
const BLOCK = 8_000;
const LINE_MAX = 40_000;

/** With more at the end, and no more than so many characters at all: the oldest pieces are let go. */
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

/** Pieces that are all there. */
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

/** Pieces that become more. Whoever looks at the end goes on seeing the end. */
export function Tail({ blocks, label, otherwise }: { blocks: readonly Block[]; label: string; otherwise: string }) {
  const element = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  const top = useRef(0);
  useEffect(() => {
    const goToEnd = (): void => {
      if (isAtEnd.current && element.current) element.current.scrollTop = element.current.scrollHeight;
    };
    goToEnd();
    // What came into sight by that may be higher than it was taken for.
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
        // Whoever goes up leaves the end; a text that grows leaves nobody.
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
 * Calls once before the next time that the page is drawn, however often it was asked to; never while nobody sees the
 * page.
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
