/** Starts the console in its page, with the query client of all pages. */

import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { isAway } from './lib/api.ts';
import 'uplot/dist/uPlot.min.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/forms.css';

/** Pause before a failed request is retried, in milliseconds. */
const AGAIN_MS = 1_500;

/** A browser without internet may still reach this service, on the same machine or network. */
const NETWORK_MODE = 'always';

const queries = new QueryClient({
  defaultOptions: {
    mutations: { networkMode: NETWORK_MODE },
    queries: {
      staleTime: 5_000,
      networkMode: NETWORK_MODE,
      // An unreachable service is retried until it answers. Meanwhile the page says so (ui/parts.tsx, Loading).
      retry: (_tries, error) => isAway(error),
      retryDelay: AGAIN_MS,
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
