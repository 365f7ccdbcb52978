import { Anchor, AppShell, Burger, Group, NavLink } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import { AccountBar } from './account-bar.tsx';
import { Brand } from './ui/brand.tsx';
import { ColorSchemeButton } from './ui/color-scheme-button.tsx';
import { Icon, type IconName } from './ui/icon.tsx';
import { WalletNotice } from './wallet/wallet-notice.tsx';

const places: { path: string; label: string; icon: IconName }[] = [
  { path: '/', label: 'Overview', icon: 'overview' },
  { path: '/robots', label: 'Robots', icon: 'robot' },
  { path: '/fleets', label: 'Fleets', icon: 'fleet' },
  { path: '/tasks', label: 'Tasks', icon: 'task' },
  { path: '/events', label: 'Events', icon: 'event' },
  { path: '/verify', label: 'Verify', icon: 'verify' },
  { path: '/account', label: 'Account', icon: 'account' },
];

/** What surrounds the views of who is signed in. */
export function Shell({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure();
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another view was chosen
  useEffect(close, [path]);
  const isHere = (place: string) => (place === '/' ? path === '/' : path.startsWith(place));
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <Anchor href="#main" className="skip">
        Skip to content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
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
        <div className="content">{children}</div>
      </AppShell.Main>
    </AppShell>
  );
}
