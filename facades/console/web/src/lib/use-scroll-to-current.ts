/**
 * Where one is among links that do not all fit: scrolled into sight, sideways, also when there is less room than
 * before.
 */

import type { RefObject } from 'react';
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';

/** For the element around the links. */
export function useScrollToCurrent(): RefObject<HTMLElement | null> {
  const around = useRef<HTMLElement>(null);
  const [path] = useLocation();
  useEffect(() => {
    const links = around.current;
    if (!links) return undefined;
    // Observing begins with a call.
    const watch = new ResizeObserver(() => {
      const here = links.querySelector<HTMLElement>('[aria-current]');
      if (here) links.scrollLeft = here.offsetLeft - (links.clientWidth - here.clientWidth) / 2;
    });
    watch.observe(links);
    return () => watch.disconnect();
  }, [path]);
  return around;
}
