import { Alert, Button, Group, Progress, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ask } from '../api.ts';
import { type Account as AccountData, accountQuery, chainQuery } from '../queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Hex } from '../ui/copy.tsx';
import { ether } from '../ui/ether.ts';
import { Page } from '../ui/page.tsx';
import { ScrollTable } from '../ui/scroll-table.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { NetworkCard } from '../wallet/network-card.tsx';

export default function Account() {
  const account = useQuery(accountQuery);
  return (
    <Page title="Account" lead="Your wallet, what it may do here, and who is signed in with it.">
      <Loaded query={account} what="account">
        {(data) => data && <AccountCards account={data} />}
      </Loaded>
      <Sessions />
      <Ledger />
    </Page>
  );
}

function AccountCards({ account }: { account: AccountData }) {
  const { data: chain } = useQuery(chainQuery);
  const { credits, limits, gate } = account;
  const symbol = chain?.params.nativeCurrency.symbol ?? 'ETH';
  return (
    <div className="grid-wide">
      <section className="card">
        <h2 className="card-title">Wallet</h2>
        <Hex value={account.wallet} what="wallet address" />
        <Group mt="md" gap="xs">
          <Text size="sm">Token gate</Text>
          {gate.holds ? (
            <Badge tone="good">requirement met</Badge>
          ) : (
            <Badge tone="warn">requirement not met</Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed" mt={4}>
          {gate.holds
            ? 'The wallet holds what this service asks for on the anchoring network.'
            : 'The wallet does not hold the token that this service asks for, or the chain could not be read.'}
        </Text>
      </section>
      <section className="card">
        <h2 className="card-title">Credits</h2>
        <Group gap="xl">
          <Figure label="anchors left" value={credits.anchor_quota.toLocaleString('en')} />
          <Figure label={`${symbol} of gas credit`} value={ether(credits.gas_credit_wei)} />
        </Group>
        {credits.low && (
          <Alert color="yellow" mt="md" role="status">
            Credits run low. Completions are refused once they are used up; tasks stay claimed.
          </Alert>
        )}
      </section>
      <NetworkCard />
      <section className="card">
        <h2 className="card-title">Limits</h2>
        <Used label="Robots" {...limits.robots} />
        <Used label="Fleets" {...limits.fleets} />
      </section>
    </div>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <div className="figure">{value}</div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
    </div>
  );
}

function Used({ label, used, max }: { label: string; used: number; max: number }) {
  return (
    <div>
      <Group justify="space-between" mt="xs">
        <Text size="sm">{label}</Text>
        <Text size="sm" c="dimmed">
          {used} of {max}
        </Text>
      </Group>
      <Progress value={max === 0 ? 0 : (used / max) * 100} mt={4} aria-label={`${label} in use`} />
    </div>
  );
}

function Sessions() {
  const queries = useQueryClient();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => ask('GET /api/v1/sessions', { query: { limit: '200' }, signal }),
  });
  const revoke = useMutation({
    mutationFn: (id: string) => ask('DELETE /api/v1/sessions/:id', { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <section className="card" aria-labelledby="sessions">
      <h2 className="card-title" id="sessions">
        Sessions
      </h2>
      {revoke.isError && (
        <Alert color="red" mb="sm" role="alert">
          {revoke.error.message}
        </Alert>
      )}
      <Loaded query={sessions} what="sessions">
        {({ items }) => (
          <ScrollTable label="Sessions" minWidth={480}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Opened by</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th>Ends</Table.Th>
                <Table.Th>
                  <span className="hidden">Action</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td>
                    {session.signed_in_with === 'wallet' ? 'Wallet signature' : 'Command line'}{' '}
                    {session.current && <Badge tone="good">this one</Badge>}
                  </Table.Td>
                  <Table.Td>
                    <Ago at={session.created_at} />
                  </Table.Td>
                  <Table.Td>
                    <time dateTime={session.expires_at}>{session.expires_at.slice(0, 10)}</time>
                  </Table.Td>
                  <Table.Td ta="right">
                    {!session.current && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={revoke.isPending && revoke.variables === session.id}
                        onClick={() => revoke.mutate(session.id)}
                      >
                        Revoke
                      </Button>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </ScrollTable>
        )}
      </Loaded>
    </section>
  );
}

function Ledger() {
  const ledger = useQuery({
    queryKey: ['ledger'],
    queryFn: ({ signal }) => ask('GET /api/v1/credits/ledger', { query: { limit: '50' }, signal }),
  });
  return (
    <section className="card" aria-labelledby="ledger">
      <h2 className="card-title" id="ledger">
        Latest changes of the credits
      </h2>
      <Loaded query={ledger} what="changes">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No change yet" />
          ) : (
            <ScrollTable label="Changes of the credits" minWidth={480} maxHeight={360}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>When</Table.Th>
                  <Table.Th>What</Table.Th>
                  <Table.Th ta="right">Anchors</Table.Th>
                  <Table.Th ta="right">Gas</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((entry) => (
                  <Table.Tr key={entry.id}>
                    <Table.Td>
                      <Ago at={entry.created_at} />
                    </Table.Td>
                    <Table.Td>
                      {entry.kind}
                      {entry.note && <Text size="sm">{entry.note}</Text>}
                    </Table.Td>
                    <Table.Td ta="right">{entry.anchors.toLocaleString('en')}</Table.Td>
                    <Table.Td ta="right">{ether(entry.gas_wei)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ScrollTable>
          )
        }
      </Loaded>
    </section>
  );
}
