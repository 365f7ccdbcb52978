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
import { useTimeZone } from './ui/time-zone.ts';

/** A component that is loaded when it is needed. */
interface Part {
  load: () => Promise<unknown>;
  /** The component; until it is loaded, one that waits for it. */
  best: () => ComponentType<{ children: ReactNode }>;
}

function part(read: () => Promise<{ default: ReturnType<Part['best']> }>): Part {
  let loaded: ReturnType<Part['best']> | undefined;
  const load = async () => {
    const module = await read();
    loaded = module.default;
    return module;
  };
  const Later = lazy(load);
  return { load, best: () => loaded ?? Later };
}

/** Shows a part, without a fallback if it is loaded: React replaces a fallback after 300 ms at the earliest. */
function Show({ part, children }: { part: Part; children?: ReactNode }) {
  const [Component] = useState(part.best);
  return <Component>{children}</Component>;
}

/** Views that need a session, by path. */
const views = {
  '/': part(() => import('./views/overview.tsx')),
  '/robots': part(() => import('./views/robots.tsx')),
  '/robots/:id': part(() => import('./views/robot.tsx')),
  '/fleets': part(() => import('./views/fleets.tsx')),
  '/tasks': part(() => import('./views/tasks.tsx')),
  '/tasks/:id': part(() => import('./views/task.tsx')),
  '/events': part(() => import('./views/events.tsx')),
  '/account': part(() => import('./views/account.tsx')),
  '/access': part(() => import('./views/access.tsx')),
  '/alerts': part(() => import('./views/alerts.tsx')),
  '/webhooks': part(() => import('./views/webhooks.tsx')),
  '/cli-login': part(() => import('./views/cli-login.tsx')),
};
/** Views for everyone, by path. */
const publicViews = {
  '/verify': part(() => import('./views/verify.tsx')),
  '/verify/:proofHash': part(() => import('./views/verify-hash.tsx')),
  '/tx/:txHash': part(() => import('./views/transaction.tsx')),
};
const shell = part(() => import('./shell.tsx'));
const landing = part(() => import('./views/landing.tsx'));
const loadSignIn = () => import('./views/sign-in.tsx');
const SignIn = lazy(loadSignIn);
const allViews = Object.entries({ ...views, ...publicViews });

/** Parts that no first view needs. */
const loadLater: (() => Promise<unknown>)[] = [
  landing.load,
  loadSignIn,
  () => import('./views/robots/robot-form.tsx'),
  () => import('./views/robot/dialogs.tsx'),
  () => import('./views/robots/move-bar.tsx'),
];

function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replace(/:\w+/, '[^/]+')}/?$`).test(path);
}

/**
 * Begins to read the account, and loads what the first view consists of. On a page of an account, loads all views later,
 * so that they open at once, even while the service is down.
 */
export async function preload(queries: QueryClient): Promise<void> {
  const path = window.location.pathname;
  const isPublic = Object.keys(publicViews).some((pattern) => matches(pattern, path));
  // A browser that never signed in sees the page for visitors there.
  const isVisitor = path === '/' && localStorage.getItem('svc-wallet') === null;
  const fitting = allViews.filter(([at]) => matches(at, path)).map(([, view]) => view);
  const isPrivate = fitting.length > 0 && !isPublic;
  const parts = isVisitor ? [landing] : [...fitting, ...(isPrivate ? [shell] : [])];
  if (path === '/sign-in') loadSignIn().catch(() => {});
  if (!isPublic) {
    setTimeout(() => {
      for (const load of [...allViews.map(([, view]) => view.load), ...loadLater]) {
        load().catch(() => {});
      }
    }, PRELOAD_MS);
  }
  void queries.prefetchQuery(accountQuery);
  // These two show nothing before robots are there.
  if (path === '/' || path === '/robots') void queries.prefetchQuery(robotsQuery);
  // A part that takes longer is waited for by React.
  const late = new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT_MS));
  await Promise.race([late, Promise.allSettled(parts.map(({ load }) => load()))]);
}

const PRELOAD_MS = 2_000;
const LONGEST_WAIT_MS = 1_000;

export function App() {
  const [path] = useLocation();
  // Renders everything again when the zone changes; no view loses its state.
  useTimeZone();
  const isView = Object.keys(views).some((pattern) => matches(pattern, path));
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/sign-in" component={SignInOrGoOn} />
        {Object.entries(publicViews).map(([pattern, view]) => (
          <Route key={pattern} path={pattern}>
            <Public>
              <Show part={view} />
            </Public>
          </Route>
        ))}
        <Route>
          {isView ? (
            <SignedIn>
              <Show part={shell}>
                <Suspense fallback={<Loading what="page" />}>
                  <Switch>
                    {Object.entries(views).map(([pattern, view]) => (
                      <Route key={pattern} path={pattern}>
                        <Show part={view} />
                      </Route>
                    ))}
                  </Switch>
                </Suspense>
              </Show>
            </SignedIn>
          ) : (
            <Public>
              <NotFound />
            </Public>
          )}
        </Route>
      </Switch>
    </Suspense>
  );
}

/** A page for everyone, signed in or not. */
function Public({ children }: { children: ReactNode }) {
  return (
    <PublicShell>
      <Suspense fallback={<Loading what="page" />}>{children}</Suspense>
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
    if (path === '/') {
      return (
        <Public>
          <Show part={landing} />
        </Public>
      );
    }
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
