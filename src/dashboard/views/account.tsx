// The account: wallet, credits, limits, ledger and network.
import '@mantine/core/styles/Progress.css';
import { Group, Progress, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type Account as AccountData, accountQuery, chainQuery } from '../queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { CreditState } from '../ui/credit.tsx';
import { ether } from '../ui/ether.ts';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Hex } from '../ui/values.tsx';
import { NetworkCard } from '../wallet/network-card.tsx';
import { StoredData } from './account/data.tsx';
import { Ledger } from './account/ledger.tsx';

export default function Account() {
  const account = useQuery(accountQuery);
  return (
    <Page title="Account" lead="Your wallet, credits and limits.">
      <Loaded query={account} what="account">
        {(data) => data && <AccountCards account={data} />}
      </Loaded>
      <Ledger />
    </Page>
  );
}

function AccountCards({ account }: { account: AccountData }) {
  const { data: chain } = useQuery(chainQuery);
  const { credits, limits, gate } = account;
  const symbol = chain?.params.nativeCurrency.symbol ?? 'ETH';
  const gateWords = wordsOf(gate);
  return (
    <div className="grid-wide">
      <Card title="Wallet">
        <Hex value={account.wallet} what="wallet address" />
        <Group mt="md" gap="xs">
          <Text>Token gate</Text>
          <Badge tone={gateWords.tone}>{gateWords.badge}</Badge>
        </Group>
        <Text c="dimmed" mt={4}>
          {gateWords.sentence}
        </Text>
      </Card>
      <Card title="Credits">
        <Group gap="xl">
          <Figure
            label="anchors left"
            value={(credits.anchors_affordable ?? credits.anchor_quota).toLocaleString('en')}
          />
          <Figure label={`${symbol} of gas credit`} value={ether(credits.gas_credit_wei)} />
        </Group>
        <CreditState credits={credits} />
      </Card>
      <NetworkCard />
      <Card title="Limits">
        <Used label="Robots" {...limits.robots} />
        <Used label="Fleets" {...limits.fleets} />
      </Card>
      <StoredData wallet={account.wallet} />
    </div>
  );
}

function wordsOf({ required, holds }: AccountData['gate']) {
  if (!required) {
    const sentence = 'This service requires no token.';
    return { tone: 'plain', badge: 'no requirement', sentence } as const;
  }
  if (holds) {
    const sentence = 'The wallet meets the token requirement of this service.';
    return { tone: 'good', badge: 'requirement met', sentence } as const;
  }
  const sentence =
    'The wallet does not hold the token that this service requires, or the chain could not be read.';
  return { tone: 'warn', badge: 'requirement not met', sentence } as const;
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <div className="figure">{value}</div>
      <Text c="dimmed">{label}</Text>
    </div>
  );
}

function Used({ label, used, max }: { label: string; used: number; max: number }) {
  return (
    <div>
      <Group justify="space-between" mt="xs">
        <Text>{label}</Text>
        <Text c="dimmed">
          {used} of {max}
        </Text>
      </Group>
      <Progress value={max === 0 ? 0 : (used / max) * 100} mt={4} aria-label={`${label} in use`} />
    </div>
  );
}
