// The frame around the views of an account: header, navigation and account.
import { Anchor, AppShell, Burger, Button, Group, Text } from '@mantine/core';
import { useDisclosure, useWindowEvent } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import {
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useRef,
  useState,
} from 'react';
import { Link, useLocation } from 'wouter';
import { Brand, ColorSchemeButton, TimeZoneButton } from './public-shell.tsx';
import { accountQuery, alertsQuery, secretsQuery, useAlertCount, useSignOut } from './queries.ts';
import { Badge } from './ui/badge.tsx';
import { Icon, type IconName } from './ui/icon.tsx';
import { ServiceStrip } from './ui/service-status.tsx';
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

const Search = lazy(() => import('./search.tsx'));
/** The form that makes a secret has loaded this by then. */
const Secrets = lazy(() => import('./ui/secret-dialog.tsx'));

/** Header and navigation around the views of an account. */
export default function Shell({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure();
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes when the path changes
  useEffect(close, [path]);
  const { data: secrets } = useQuery(secretsQuery);
  useQuery(alertsQuery);
  const alerts = useAlertCount();
  const [isSearching, setSearching] = useState(false);
  useWindowEvent('keydown', (event) => {
    const isTyping = (event.target as Element).closest('input, textarea, select, [role=dialog]');
    const isSlash = event.key === '/' && !isTyping;
    if (!isSlash && !(event.key === 'k' && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    setSearching(true);
  });
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
            <Button
              size="xs"
              px={8}
              aria-keyshortcuts="Control+K /"
              onClick={() => setSearching(true)}
            >
              Search
            </Button>
            <TimeZoneButton />
            <ColorSchemeButton />
            <Group gap="xs" wrap="nowrap" visibleFrom="sm">
              <AccountBar />
            </Group>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" component="nav" aria-label="Views">
        <AppShell.Section grow className="nav-links">
          {places.map(({ path: place, label, icon }) => (
            <Link
              key={place}
              href={place}
              aria-current={isHere(place) ? 'page' : undefined}
              className="nav-link"
            >
              <Icon name={icon} />
              {label}
              {place === '/alerts' && alerts > 0 && <Badge tone="bad">{alerts}</Badge>}
            </Link>
          ))}
        </AppShell.Section>
        {/* The header of a phone is too narrow for it. */}
        <AppShell.Section hiddenFrom="sm">
          <Group justify="space-between">
            <AccountBar />
          </Group>
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <ServiceStrip />
        <WalletNotice />
        <div className="content">{children}</div>
        {isSearching && (
          <Suspense>
            <Search pages={places} onClose={() => setSearching(false)} />
          </Suspense>
        )}
        {secrets && (
          <Suspense>
            <Secrets />
          </Suspense>
        )}
      </AppShell.Main>
    </AppShell>
  );
}

/** The wallet that is signed in, and the button to sign out. */
function AccountBar() {
  const { data: account } = useQuery(accountQuery);
  const signOut = useSignOut('/sign-in');
  if (!account) return null;
  return (
    <>
      <Text ff="monospace" title={account.wallet}>
        {shorten(account.wallet)}
      </Text>
      <Button size="xs" loading={signOut.isPending} onClick={() => signOut.mutate()}>
        Sign out
      </Button>
    </>
  );
}
