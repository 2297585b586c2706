/** Dark or light theme: the system's until the user chooses one. */
import { useEffect, useState } from 'react';

const NAME = 'slipway-theme';

/** Chosen theme. Empty: the system's. */
type Theme = '' | 'dark' | 'light';

/** Returns the chosen theme and a function that changes it. The choice is stored in the browser. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const kept = localStorage.getItem(NAME);
    return kept === 'dark' || kept === 'light' ? kept : '';
  });
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(NAME, theme);
    // Charts draw themselves and must be notified.
    window.dispatchEvent(new Event('slipway-theme'));
  }, [theme]);
  return [theme, setTheme];
}
