// The frame around the public pages, and the parts of the header that all pages have.
import {
  ActionIcon,
  Anchor,
  Button,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { accountQuery } from './queries.ts';
import { Icon } from './ui/icon.tsx';
import { useTimeZone } from './ui/time-zone.ts';

/** Header around the public pages. */
export function PublicShell({ children }: { children: ReactNode }) {
  const { data: account } = useQuery(accountQuery);
  return (
    <>
      <Anchor href="#main" size="md" className="skip">
        Skip to content
      </Anchor>
      <header className="public-header">
        <Brand />
        <div className="public-links">
          <Anchor component={Link} href="/verify">
            Verify a proof
          </Anchor>
          <TimeZoneButton />
          <ColorSchemeButton />
          <Button component={Link} href={account ? '/' : '/sign-in'} size="xs">
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

export function Brand() {
  return (
    <Link href="/" className="brand">
      <img src="/icon.svg" alt="" width={28} height={28} />
      <span>svc</span>
    </Link>
  );
}

/** Switches all times between UTC and the time zone of the browser. */
export function TimeZoneButton() {
  const [zone, toggle] = useTimeZone();
  const isUtc = zone === 'UTC';
  const label = isUtc ? 'UTC: switch to local time' : 'Local time: switch to UTC';
  return (
    <Button size="xs" px={8} aria-label={label} title={label} onClick={toggle}>
      {isUtc ? 'UTC' : 'Local'}
    </Button>
  );
}

export function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const shown = useComputedColorScheme('light');
  const other = shown === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon size={30} aria-label={`Use ${other} colors`} onClick={() => setColorScheme(other)}>
      <Icon name={other === 'dark' ? 'moon' : 'sun'} />
    </ActionIcon>
  );
}
