// Routes of the dashboard: which view a path shows, and whether it needs a session.
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import {
  Activity,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useState,
} from 'react';
import {
  Link,
  matchRoute,
  Redirect,
  Route,
  Switch,
  useLocation,
  useRouter,
  useSearch,
  useSearchParams,
} from 'wouter';
import { accountQuery, robotsQuery } from './queries.ts';
import { PublicShell, Shell } from './shell.tsx';
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
const loadLanding = () => import('./views/landing.tsx');
const loadSignIn = () => import('./views/sign-in.tsx').then((view) => ({ default: view.SignIn }));
const Landing = lazy(loadLanding);
const SignIn = lazy(loadSignIn);

/** Views that need a session, and views for everyone, by path. */
const views = Object.entries(load).map(([path, view]) => [path, lazy(view)] as const);
const publicViews = Object.entries(loadPublic).map(([path, view]) => [path, lazy(view)] as const);

/**
 * Loads the view of a path and the robots while the account is read, and all views after it, so that the others open at
 * once, even while the service is down.
 */
function usePreload(path: string): void {
  const { parser } = useRouter();
  const queries = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first path alone
  useEffect(() => {
    for (const [pattern, view] of Object.entries(load)) {
      if (matchRoute(parser, pattern, path)[0]) view().catch(() => {});
    }
    // These two show nothing before all robots are there.
    if (path === '/' || path === '/robots') void queries.prefetchQuery(robotsQuery);
    const timer = setTimeout(() => {
      const others = { loadLanding, loadSignIn };
      for (const view of Object.values({ ...load, ...loadPublic, ...others })) {
        view().catch(() => {});
      }
    }, PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
}

const PRELOAD_MS = 2_000;

export function App() {
  const { parser } = useRouter();
  const [path] = useLocation();
  const isView = views.some(([pattern]) => matchRoute(parser, pattern, path)[0]);
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
  usePreload(path);
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
