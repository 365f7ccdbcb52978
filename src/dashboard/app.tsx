import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { Redirect, Route, Switch, useLocation, useSearchParams } from 'wouter';
import { accountQuery } from './queries.ts';
import { Shell } from './shell.tsx';
import { Failure, Loading } from './ui/states.tsx';
import { NotFound } from './views/not-found.tsx';
import { SignIn } from './views/sign-in.tsx';

const Overview = lazy(() => import('./views/overview.tsx'));
const Account = lazy(() => import('./views/account.tsx'));

export function App() {
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/sign-in" component={SignInOrGoOn} />
        <Route>
          <SignedIn>
            <Shell>
              <Suspense fallback={<Loading what="page" />}>
                <Switch>
                  <Route path="/" component={Overview} />
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
