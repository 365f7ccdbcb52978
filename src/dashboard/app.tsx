// Routes of the dashboard: which view a path shows, and whether it needs a session.
import { Button } from '@mantine/core';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  Activity,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useState,
} from 'react';
import { Link, Redirect, Route, Switch, useLocation, useSearch, useSearchParams } from 'wouter';
import { PublicShell } from './public-shell.tsx';
import { accountQuery, robotsQuery } from './queries.ts';
import { followStream } from './stream.ts';
import { Page } from './ui/page.tsx';
import { Empty, Loading, Waiting } from './ui/states.tsx';

const load = {
  '/': () => import('./views/overview.tsx'),
  '/robots': () => import('./views/robots.tsx'),
  '/robots/:id': () => import('./views/robot.tsx'),
  '/fleets': () => import('./views/fleets.tsx'),
  '/tasks': () => import('./views/tasks.tsx'),
  '/tasks/:id': () => import('./views/task.tsx'),
  '/events': () => import('./views/events.tsx'),
  '/account': () => import('./views/account.tsx'),
  '/access': () => import('./views/access.tsx'),
  '/alerts': () => import('./views/alerts.tsx'),
  '/webhooks': () => import('./views/webhooks.tsx'),
  '/cli-login': () => import('./views/cli-login.tsx'),
};
const loadPublic = {
  '/verify': () => import('./views/verify.tsx'),
  '/verify/:proofHash': () => import('./views/verify-hash.tsx'),
  '/tx/:txHash': () => import('./views/transaction.tsx'),
};
const loadShell = () => import('./shell.tsx');
const loadLanding = () => import('./views/landing.tsx');
const loadSignIn = () => import('./views/sign-in.tsx').then((view) => ({ default: view.SignIn }));
const Shell = lazy(loadShell);
const Landing = lazy(loadLanding);
const SignIn = lazy(loadSignIn);

/** Parts that no first view needs. */
const loadLater: (() => Promise<unknown>)[] = [
  loadLanding,
  loadSignIn,
  () => import('./views/robots/robot-form.tsx'),
  () => import('./views/robot/dialogs.tsx'),
  () => import('./views/robots/move-bar.tsx'),
];

/** Views that need a session, and views for everyone, by path. */
const views = Object.entries(load).map(([path, view]) => [path, lazy(view)] as const);
const publicViews = Object.entries(loadPublic).map(([path, view]) => [path, lazy(view)] as const);

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replace(/:\w+/, '[^/]+')}/?$`).test(path);
}

/**
 * Begins to read the account and to load the view, before the first rendering. On a page of an account, loads all views
 * later, so that they open at once, even while the service is down.
 */
export function preload(queries: QueryClient): void {
  const path = window.location.pathname;
  void queries.prefetchQuery(accountQuery);
  // These two show nothing before robots are there.
  if (path === '/' || path === '/robots') void queries.prefetchQuery(robotsQuery);
  const loading = Object.entries({ ...load, ...loadPublic }).filter(([at]) => matches(at, path));
  for (const [, view] of loading) view().catch(() => {});
  if (Object.keys(loadPublic).some((pattern) => matches(pattern, path))) return;
  loadShell().catch(() => {});
  setTimeout(() => {
    for (const view of [...Object.values({ ...load, ...loadPublic }), ...loadLater]) {
      view().catch(() => {});
    }
  }, PRELOAD_MS);
}

const PRELOAD_MS = 2_000;

export function App() {
  const [path] = useLocation();
  const isView = views.some(([pattern]) => matches(pattern, path));
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/sign-in" component={SignInOrGoOn} />
        {publicViews.map(([pattern, View]) => (
          <Route key={pattern} path={pattern}>
            <Public page={View} />
          </Route>
        ))}
        <Route>
          {isView ? (
            <SignedIn>
              <Shell>
                <Suspense fallback={<Loading what="page" />}>
                  <Switch>
                    {views.map(([pattern, View]) => (
                      <Route key={pattern} path={pattern} component={View} />
                    ))}
                  </Switch>
                </Suspense>
              </Shell>
            </SignedIn>
          ) : (
            <Public page={NotFound} />
          )}
        </Route>
      </Switch>
    </Suspense>
  );
}

/** A page for everyone, signed in or not. */
function Public({ page: View }: { page: ComponentType }) {
  return (
    <PublicShell>
      <Suspense fallback={<Loading what="page" />}>
        <View />
      </Suspense>
    </PublicShell>
  );
}

/**
 * Shows its children with a session, and the sign-in view without one. If the session ends while a view is open, the
 * view is hidden with its state, and shown again when the same wallet signs in.
 */
function SignedIn({ children }: { children: ReactNode }) {
  const account = useQuery(accountQuery);
  const queries = useQueryClient();
  const isSignedIn = Boolean(account.data);
  useEffect(() => (isSignedIn ? followStream(queries) : undefined), [isSignedIn, queries]);
  const [path] = useLocation();
  const search = useSearch();
  const [wallet, setWallet] = useState<string>();
  if (account.data && account.data.wallet !== wallet) setWallet(account.data.wallet);
  if (wallet === undefined && account.data === null) {
    if (path === '/') return <Public page={Landing} />;
    const here = search === '' ? path : `${path}?${search}`;
    return <Redirect to={`/sign-in?next=${encodeURIComponent(here)}`} replace />;
  }
  return (
    <>
      {wallet !== undefined && (
        <Activity key={wallet} mode={account.data ? 'visible' : 'hidden'}>
          {children}
        </Activity>
      )}
      {account.data === null && <SignIn endedFor={wallet} />}
      {account.data === undefined && <Waiting query={account} what="account" />}
    </>
  );
}

function SignInOrGoOn() {
  const account = useQuery(accountQuery);
  const [search] = useSearchParams();
  const next = search.get('next') ?? '/';
  if (account.data) return <Redirect to={pathHere(next)} replace />;
  return <SignIn />;
}

/** `next` if a browser reads it as an address of this site, which `//host` and `/\t/host` are not; else `/`. */
function pathHere(next: string): string {
  const { origin } = window.location;
  const isHere =
    next.startsWith('/') && URL.canParse(next, origin) && new URL(next, origin).origin === origin;
  return isHere ? next : '/';
}

function NotFound() {
  return (
    <Page title="Not found">
      <Empty title="This page does not exist">
        <Button component={Link} href="/" mt="sm">
          Go to the start page
        </Button>
      </Empty>
    </Page>
  );
}
