/** Scrolls the current link into view, sideways, if not all links fit. Also when the space shrinks. */

import type { RefObject } from 'react';
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';

/** Returns the ref for the element around the links. */
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
