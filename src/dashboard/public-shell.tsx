import { Anchor, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { accountQuery } from './queries.ts';
import { Brand } from './ui/brand.tsx';
import { ColorSchemeButton } from './ui/color-scheme-button.tsx';

/** What surrounds the pages that everybody may see. */
export function PublicShell({ children }: { children: ReactNode }) {
  const { data: account } = useQuery(accountQuery);
  return (
    <>
      <Anchor href="#main" className="skip">
        Skip to content
      </Anchor>
      <header className="public-header">
        <Brand />
        <div className="public-links">
          <Anchor component={Link} href="/verify" size="sm">
            Verify a proof
          </Anchor>
          <ColorSchemeButton />
          <Button component={Link} href={account ? '/' : '/sign-in'} size="xs" variant="default">
            {account ? 'Dashboard' : 'Sign in'}
          </Button>
        </div>
      </header>
      <main id="main" className="public-main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
