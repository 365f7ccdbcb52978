import { useQuery } from '@tanstack/react-query';
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { Redirect, Route, Switch, useLocation, useSearchParams } from 'wouter';
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

/** Its children for who is signed in, the way to sign in for everybody else. */
function SignedIn({ children }: { children: ReactNode }) {
  const account = useQuery(accountQuery);
  const [path] = useLocation();
  const wasSignedIn = useRef(false);
  useEffect(() => {
    if (account.data) wasSignedIn.current = true;
  }, [account.data]);
  if (account.data) return children;
  if (account.data === null) {
    const ended = wasSignedIn.current ? '&ended=1' : '';
    return <Redirect to={`/sign-in?next=${encodeURIComponent(path)}${ended}`} replace />;
  }
  if (account.isError) return <Failure error={account.error} onRetry={account.refetch} />;
  return <Loading what="account" />;
}

function SignInOrGoOn() {
  const account = useQuery(accountQuery);
  const [search] = useSearchParams();
  const next = search.get('next') ?? '/';
  // A path of this site: a second slash would begin another host.
  const target = /^\/(?![/\\])/.test(next) ? next : '/';
  if (account.data) return <Redirect to={target} replace />;
  return <SignIn ended={search.has('ended')} />;
}
