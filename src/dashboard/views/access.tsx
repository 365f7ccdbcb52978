// Access: what can act for the account, and who did what to it.
import { ask } from '../api.ts';
import { PagedList } from '../lists/paged-list.tsx';
import { Card } from '../ui/card.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { Sessions, Tokens } from './access/tokens.tsx';

export default function Access() {
  return (
    <Page title="Access" lead="Sessions, tokens for scripts, and who did what to your account.">
      <div className="grid-wide">
        <Tokens />
        <Sessions />
      </div>
      <Card title="Audit log">
        <PagedList
          what="entries"
          queryKey={['audit-log']}
          read={(query, signal) => ask('GET /api/v1/audit-log', { query, signal })}
          empty={<Empty title="No entries in the last year" />}
          columns={[
            {
              title: 'What',
              cell: ({ kind, count, detail }) =>
                `${sentence(kind)}${count > 1 ? ` (${count} times)` : ''}${detail ? `: ${detail}` : ''}`,
            },
            {
              title: 'By',
              cell: ({ actor, actor_name, source }) =>
                [sentence(actor), actor_name, source].filter(Boolean).join(', '),
            },
            { title: 'When', width: '7rem', cell: (entry) => <Ago at={entry.created_at} /> },
          ]}
        />
      </Card>
    </Page>
  );
}

/** `robot_created` as `Robot created`. */
function sentence(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}
