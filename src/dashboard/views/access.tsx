// Access: account tokens, and who did what to the account.
import { Table } from '@mantine/core';
import { ask, type Reply } from '../api.ts';
import { PagedList } from '../lists/paged-list.tsx';
import { Page } from '../ui/page.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { Tokens } from './access/tokens.tsx';

export default function Access() {
  return (
    <Page title="Access" lead="Tokens for scripts, and who did what to your account.">
      <Tokens />
      <section className="card" aria-labelledby="audit-log">
        <h2 className="card-title" id="audit-log">
          Audit log
        </h2>
        <PagedList
          what="entries"
          queryKey={['audit-log']}
          read={(query, signal) => ask('GET /api/v1/audit-log', { query, signal })}
          empty={<Empty title="No entries in the last year" />}
        >
          {(entries) => <AuditLog entries={entries} />}
        </PagedList>
      </section>
    </Page>
  );
}

type Entry = Reply<'GET /api/v1/audit-log'>['items'][number];

function AuditLog({ entries }: { entries: Entry[] }) {
  return (
    <ScrollTable label="Audit log">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>What</Table.Th>
          <Table.Th>By</Table.Th>
          <Table.Th>When</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {entries.map((entry) => (
          <Table.Tr key={entry.id}>
            <Table.Td className="wrap">
              {sentence(entry.kind)}
              {entry.count > 1 && ` (${entry.count} times)`}
              {entry.detail && `: ${entry.detail}`}
            </Table.Td>
            <Table.Td className="wrap">
              {[sentence(entry.actor), entry.actor_name, entry.source].filter(Boolean).join(', ')}
            </Table.Td>
            <Table.Td>
              <Ago at={entry.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}

/** `robot_created` as `Robot created`. */
function sentence(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
}
