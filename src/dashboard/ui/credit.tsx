// What is said of credits that run out, and where to get more.
import { useQuery } from '@tanstack/react-query';
import { type Account, accountQuery } from '../queries.ts';
import { Badge } from './badge.tsx';
import { Ago } from './time.tsx';
import { counted } from './values.tsx';

/** The operator's page for credits; nothing if the operator names none. */
export function CreditLink() {
  const { data: account } = useQuery(accountQuery);
  const url = account?.credits.credit_url;
  return url && <a href={url}>Get credits</a>;
}

/** Whether the credits are exhausted or low, and how many proofs were refused. Nothing while there are enough. */
export function CreditState({ credits }: { credits: Account['credits'] }) {
  const { anchor_quota, anchors_affordable, low, refused } = credits;
  const left = anchors_affordable ?? anchor_quota;
  if (!low && refused.tasks === 0) return null;
  return (
    <div className="chips">
      {left === 0 ? (
        <Badge tone="bad">exhausted</Badge>
      ) : (
        low && <Badge tone="warn">running low</Badge>
      )}
      {refused.since !== null && (
        <span className="danger">
          {counted(refused.tasks, 'proof')} refused, the first <Ago at={refused.since} />
        </span>
      )}
      <CreditLink />
    </div>
  );
}
