// The page for `svc login`: the owner types the code that the terminal shows, and allows the command line.
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ask, type Reply, ServiceError } from '../api.ts';
import { accountQuery, useSignOut } from '../queries.ts';
import { TextField, useField } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';
import { Problem } from '../ui/states.tsx';

type Decision = 'allow' | 'refuse';
type Request = Reply<'POST /api/auth/cli/authorize'>;

const outcomes: Record<Decision, string> = {
  allow: 'Allowed. Continue in the terminal, which names the wallet. You can close this page.',
  refuse: 'Refused. You can close this page.',
};

export default function CliLogin() {
  const { data: account } = useQuery(accountQuery);
  const [code, codeField] = useField();
  const [asked, setAsked] = useState<Request>();
  const decision = useMutation({
    mutationFn: (decision?: Decision) =>
      ask('POST /api/auth/cli/authorize', {
        body: { user_code: code, ...(decision && { decision }) },
      }),
    onSuccess: setAsked,
  });
  const signOut = useSignOut('/sign-in?next=/cli-login');
  const enter = (event: FormEvent) => {
    event.preventDefault();
    setAsked(undefined);
    decision.mutate(undefined);
  };
  const settled = decision.isSuccess && decision.variables;
  const isWrong = decision.error instanceof ServiceError && decision.error.code === 'invalid_code';
  const isEntering = asked === undefined || isWrong;
  return (
    <Page title="Sign in on the command line">
      <Stack className="card" maw={560}>
        <Text className="description">
          You are signed in as <code>{account?.wallet}</code>.{' '}
          <Button size="compact-xs" onClick={() => signOut.mutate()}>
            Use another wallet
          </Button>
        </Text>
        <Problem of={decision} />
        {settled && <Text role="status">{outcomes[settled]}</Text>}
        {isEntering && (
          <form onSubmit={enter}>
            <Stack>
              <TextField
                label="Code that the terminal shows"
                {...codeField}
                maxLength={32}
                autoComplete="off"
                autoCapitalize="characters"
                spellCheck={false}
                data-autofocus
                required
              />
              <Button type="submit" variant="filled" loading={decision.isPending}>
                Continue
              </Button>
            </Stack>
          </form>
        )}
        {!isEntering && !settled && (
          <>
            <Text>
              <code>svc</code> on the machine <strong>{plain(asked.name) || '(no name)'}</strong>{' '}
              (its own name for itself) asked at {new Date(asked.requested_at).toLocaleTimeString()}{' '}
              to sign in as this wallet. It can read and change robots, fleets and everything else
              of this account for 30 days, or until you revoke the session.
            </Text>
            <Alert color="yellow">
              Allow this only if you have just started <code>svc login</code> yourself and its
              terminal shows <code>{code}</code>. Do not enter a code that another person sent you.
            </Alert>
            <Group>
              <Button
                variant="filled"
                disabled={decision.isPending}
                onClick={() => decision.mutate('allow')}
              >
                Allow
              </Button>
              <Button disabled={decision.isPending} onClick={() => decision.mutate('refuse')}>
                Refuse
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Page>
  );
}

/** A foreign name without control and direction characters, which could change how the sentence reads. */
const plain = (name: string) => name.replace(/[\p{Cc}\p{Cf}]/gu, '');
