// Starts the dashboard: styles, theme, queries and the root component.
import './styles/mantine.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/tables.css';
import './shell.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, preload } from './app.tsx';
import { createQueries } from './queries.ts';
import { theme } from './theme.ts';
import { Crashed } from './ui/states.tsx';

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
// get-nonce, which the scroll lock of dialogs uses, reads the nonce from here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

const queries = createQueries();
const root = document.getElementById('root');
if (root === null) throw new Error('The document has no root');
const page = createRoot(root);
void preload(queries).then(() =>
  page.render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <Crashed>
          <QueryClientProvider client={queries}>
            <App />
          </QueryClientProvider>
        </Crashed>
      </MantineProvider>
    </StrictMode>,
  ),
);
