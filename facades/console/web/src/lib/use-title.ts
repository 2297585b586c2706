/** Sets the title of the browser's tab to the heading of the page. */
import { useEffect } from 'react';

/**
 * Sets the title to the heading of the page and the tab within it, as soon as the page knows them: a heading is loaded
 * after the path has changed.
 */
export function useTitle(path: string): void {
  useEffect(() => {
    const main = document.querySelector('main');
    const set = (): void => {
      const heading = main?.querySelector('h1')?.textContent?.trim();
      const tab = main?.querySelector('.tabs [aria-current]')?.textContent?.trim();
      const title = [heading, tab, 'Slipway'].filter(Boolean).join(' · ');
      if (document.title !== title) document.title = title;
    };
    set();
    if (!main) return undefined;
    const watch = new MutationObserver(set);
    watch.observe(main, { childList: true, subtree: true, characterData: true });
    return () => watch.disconnect();
  }, [path]);
}
