import { useQuery } from '@tanstack/react-query';
import { Activity, type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';
import { Redirect, Route, Switch, useLocation, useSearch, useSearchParams } from 'wouter';
import { PublicShell } from './public-shell.tsx';
import { accountQuery } from './queries.ts';
import { Shell } from './shell.tsx';
import { Failure, Loading } from './ui/states.tsx';
import { NotFound } from './views/not-found.tsx';
import { SignIn } from './views/sign-in.tsx';

const Overview = lazy(() => import('./views/overview.tsx'));
const Robots = lazy(() => import('./views/robots.tsx'));
const Robot = lazy(() => import('./views/robot.tsx'));
const Fleets = lazy(() => import('./views/fleets.tsx'));
const Tasks = lazy(() => import('./views/tasks.tsx'));
const Task = lazy(() => import('./views/task.tsx'));
const Events = lazy(() => import('./views/events.tsx'));
const Verify = lazy(() => import('./views/verify.tsx'));
const VerifyHash = lazy(() => import('./views/verify-hash.tsx'));
const Transaction = lazy(() => import('./views/transaction.tsx'));
const Account = lazy(() => import('./views/account.tsx'));

export function App() {
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/sign-in" component={SignInOrGoOn} />
        <Route path="/verify">
          <Public page={Verify} />
        </Route>
        <Route path="/verify/:proofHash">
          <Public page={VerifyHash} />
        </Route>
        <Route path="/tx/:txHash">
          <Public page={Transaction} />
        </Route>
        <Route>
          <SignedIn>
            <Shell>
              <Suspense fallback={<Loading what="page" />}>
                <Switch>
                  <Route path="/" component={Overview} />
                  <Route path="/robots" component={Robots} />
                  <Route path="/robots/:id" component={Robot} />
                  <Route path="/fleets" component={Fleets} />
                  <Route path="/tasks" component={Tasks} />
                  <Route path="/tasks/:id" component={Task} />
                  <Route path="/events" component={Events} />
                  <Route path="/account" component={Account} />
                  <Route component={NotFound} />
                </Switch>
              </Suspense>
            </Shell>
          </SignedIn>
        </Route>
      </Switch>
    </Suspense>
  );
}

/** For everybody, signed in or not. */
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
 * Its children for who is signed in, the way to sign in for everybody else. Where a session ends under an open
 * view, the view is put away as it is, with what was typed into it, and is there again for the same wallet.
 */
function SignedIn({ children }: { children: ReactNode }) {
  const account = useQuery(accountQuery);
  const [path] = useLocation();
  const search = useSearch();
  const [wallet, setWallet] = useState<string>();
  if (account.data && account.data.wallet !== wallet) setWallet(account.data.wallet);
  if (wallet === undefined && account.data === null) {
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
      {account.data === undefined &&
        (account.isError ? (
          <Failure error={account.error} onRetry={account.refetch} />
        ) : (
          <Loading what="account" />
        ))}
    </>
  );
}

function SignInOrGoOn() {
  const account = useQuery(accountQuery);
  const [search] = useSearchParams();
  const next = search.get('next') ?? '/';
  // A path of this site: a second slash would begin another host.
  const target = /^\/(?![/\\])/.test(next) ? next : '/';
  if (account.data) return <Redirect to={target} replace />;
  return <SignIn />;
}
