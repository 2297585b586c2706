/** Where one is among links that do not all fit: scrolled into sight, sideways. */
import { useEffect, useRef } from 'react';
import type { RefObject } from 'react';
import { useLocation } from 'wouter';

/** For the element around the links. */
export function useHereInSight(): RefObject<HTMLElement | null> {
  const around = useRef<HTMLElement>(null);
  const [path] = useLocation();
  useEffect(() => {
    const here = around.current?.querySelector<HTMLElement>('[aria-current]');
    if (here) around.current!.scrollLeft = here.offsetLeft - (around.current!.clientWidth - here.clientWidth) / 2;
  }, [path]);
  return around;
}
