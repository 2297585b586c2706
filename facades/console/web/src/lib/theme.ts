/** Dark or light: as the system has it, until somebody chooses. */
import { useEffect, useState } from 'react';

const NAME = 'slipway-theme';

/** What was chosen; empty: as the system has it. */
export type Theme = '' | 'dark' | 'light';

/** The choice, and a way to change it. It outlives the page. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const kept = localStorage.getItem(NAME);
    return kept === 'dark' || kept === 'light' ? kept : '';
  });
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(NAME, theme);
    // Charts draw by themselves and must hear of it.
    window.dispatchEvent(new Event('slipway-theme'));
  }, [theme]);
  return [theme, setTheme];
}
