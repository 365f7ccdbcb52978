// The dialog that shows a new key, token or secret once.
import { Alert, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Secret, secretsQuery } from '../queries.ts';
import { Dialog, useWarningOnLeave } from './dialog.tsx';
import { Command } from './values.tsx';

/**
 * Shows a secret, whatever view is open by then. Call it as soon as the service has returned the secret; again with the
 * same value, it changes the note.
 */
export function showSecret(queries: QueryClient, secret: Secret): void {
  queries.setQueryData<Secret[]>(secretsQuery.queryKey, (shown = []) => [
    ...shown.filter(({ value }) => value !== secret.value),
    secret,
  ]);
}

/** The dialog for the oldest secret that was not closed yet. */
export default function Secrets() {
  const queries = useQueryClient();
  const { data = [] } = useQuery(secretsQuery);
  const [secret, ...others] = data;
  if (secret === undefined) return null;
  const close = () => queries.setQueryData(secretsQuery.queryKey, others);
  return <SecretDialog key={secret.value} {...secret} onClose={close} />;
}

const remedies = {
  key: 'If you lose the key, rotate it.',
  token: 'If you lose the token, create another one.',
  secret: 'If you lose the secret, rotate it.',
};

/** Shows a secret, the only time that it is visible. Closing needs a confirmation that the secret was kept. */
function SecretDialog({ what, of, value, note, onClose }: Secret & { onClose: () => void }) {
  const [isKept, setIsKept] = useState(false);
  const [isLeaving, setIsLeaving] = useState(false);
  useWarningOnLeave(!isKept);
  const leave = () => (isKept ? onClose() : setIsLeaving(true));
  return (
    <Dialog
      title={`${what.charAt(0).toUpperCase()}${what.slice(1)} of ${of}`}
      isLocked
      size="lg"
      onClose={leave}
    >
      <Stack>
        <Alert color="yellow" title={`Copy this ${what} now`}>
          The {what} is shown only once. {what !== 'secret' && 'The service stores only its hash. '}
          {remedies[what]}
        </Alert>
        {note && (
          <Alert color="red" role="alert">
            {note}
          </Alert>
        )}
        <Command value={value} what={what} />
        {uses[what]}
        {isLeaving ? (
          <Alert color="red" role="alert" title={`Close without the ${what}?`}>
            <Text mb="sm">
              The {what} cannot be shown again. {remedies[what]}
            </Text>
            <Group gap="xs">
              <Button size="xs" onClick={() => setIsLeaving(false)}>
                Back to the {what}
              </Button>
              <Button size="xs" variant="filled" color="red.9" onClick={onClose}>
                Close and lose the {what}
              </Button>
            </Group>
          </Alert>
        ) : (
          <>
            <Checkbox
              label={`I have saved the ${what}`}
              checked={isKept}
              onChange={({ currentTarget }) => setIsKept(currentTarget.checked)}
            />
            <Group justify="flex-end">
              <Button variant="filled" disabled={!isKept} onClick={onClose}>
                Done
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Dialog>
  );
}

const uses: Record<Secret['what'], ReactNode> = {
  key: (
    <>
      <div>
        <Text mb={6}>
          With svc-agent, run this on the robot, paste the key, then press Enter and Ctrl-D. The
          agent checks the key with the service and stores it where no other user can read it:
        </Text>
        <Command value="sudo svc-agent key set" what="command" />
      </div>
      <div>
        <Text mb={6}>
          Without the agent, paste the key in the same way into a file that only its user can read.
          A key in a command would stay in the history of the shell.
        </Text>
        <Command value="(umask 077 && cat > robot-key)" what="command for a file" />
      </div>
    </>
  ),
  token: (
    <div>
      <Text mb={6}>svc uses the token from the environment:</Text>
      <Command value="SVC_TOKEN=$(cat token-file) svc whoami" what="command" />
    </div>
  ),
  secret: <Text>Check the signature of each message with it, as Standard Webhooks defines.</Text>,
};
