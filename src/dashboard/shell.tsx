// The frame around every view: header, navigation, account and color scheme.
import {
  ActionIcon,
  Anchor,
  AppShell,
  Burger,
  Button,
  Group,
  NavLink,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { accountQuery, useSignOut } from './queries.ts';
import { Icon, type IconName } from './ui/icon.tsx';
import { Secrets } from './ui/secret-dialog.tsx';
import { useTimeZone } from './ui/time-zone.ts';
import { shorten } from './ui/values.tsx';
import { WalletNotice } from './wallet/wallet-notice.tsx';

const places: { path: string; label: string; icon: IconName }[] = [
  { path: '/', label: 'Overview', icon: 'overview' },
  { path: '/robots', label: 'Robots', icon: 'robot' },
  { path: '/fleets', label: 'Fleets', icon: 'fleet' },
  { path: '/tasks', label: 'Tasks', icon: 'task' },
  { path: '/events', label: 'Events', icon: 'event' },
  { path: '/alerts', label: 'Alerts', icon: 'alert' },
  { path: '/webhooks', label: 'Webhooks', icon: 'webhook' },
  { path: '/verify', label: 'Verify', icon: 'verify' },
  { path: '/account', label: 'Account', icon: 'account' },
  { path: '/access', label: 'Access', icon: 'access' },
];

/** Header and navigation around the views of an account. */
export function Shell({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure();
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes when the path changes
  useEffect(close, [path]);
  const [zone] = useTimeZone();
  const burger = useRef<HTMLButtonElement>(null);
  const onKey = ({ key }: KeyboardEvent) => {
    if (key !== 'Escape' || !opened) return;
    close();
    burger.current?.focus();
  };
  const isHere = (place: string) => (place === '/' ? path === '/' : path.startsWith(place));
  return (
    <AppShell
      onKeyDown={onKey}
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <Anchor href="#main" size="md" className="skip">
        Skip to content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              ref={burger}
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={opened ? 'Close navigation' : 'Open navigation'}
              aria-expanded={opened}
            />
            <Brand />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <TimeZoneButton />
            <ColorSchemeButton />
            <AccountBar />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label="Views">
        <AppShell.Section grow className="nav-links">
          {places.map(({ path: place, label, icon }) => (
            <NavLink
              key={place}
              component={Link}
              href={place}
              label={label}
              leftSection={<Icon name={icon} />}
              active={isHere(place)}
              aria-current={isHere(place) ? 'page' : undefined}
              className="nav-link"
            />
          ))}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <WalletNotice />
        <div className="content" key={zone}>
          {children}
        </div>
        <Secrets />
      </AppShell.Main>
    </AppShell>
  );
}

/** Header around the public pages. */
export function PublicShell({ children }: { children: ReactNode }) {
  const { data: account } = useQuery(accountQuery);
  const [zone] = useTimeZone();
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
      <main id="main" className="public-main" tabIndex={-1} key={zone}>
        {children}
      </main>
    </>
  );
}

/** The wallet that is signed in, and the button to sign out. */
function AccountBar() {
  const { data: account } = useQuery(accountQuery);
  const signOut = useSignOut('/sign-in');
  if (!account) return null;
  return (
    <>
      <Text ff="monospace" visibleFrom="xs" title={account.wallet}>
        {shorten(account.wallet)}
      </Text>
      <Button size="xs" loading={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out
      </Button>
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
function TimeZoneButton() {
  const [zone, toggle] = useTimeZone();
  const label = zone === 'UTC' ? 'UTC: show local times' : 'Local times: show UTC';
  return (
    <Button size="xs" px={8} aria-label={label} title={label} onClick={toggle}>
      {zone ?? 'Local'}
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
