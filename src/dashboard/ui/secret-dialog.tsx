// The dialog that shows a new key or token once.
import { Alert, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { Command } from './values.tsx';

interface SecretDialogProps {
  title: string;
  what: 'key' | 'token';
  secret: string;
  /** What to do if the secret is lost, and what the loss means. */
  remedy: string;
  loss: string;
  onClose: () => void;
  children: ReactNode;
}

/** Shows a secret, the only time that it is visible. Closing needs a confirmation that the secret was kept. */
export function SecretDialog(props: SecretDialogProps) {
  const { title, what, secret, remedy, loss, onClose, children } = props;
  const [isKept, setIsKept] = useState(false);
  const [isLeaving, setIsLeaving] = useState(false);
  useWarningOnLeave(!isKept);
  const leave = () => (isKept ? onClose() : setIsLeaving(true));
  return (
    <Dialog title={title} isLocked size="lg" onClose={leave}>
      <Stack>
        <Alert color="yellow" title={`Copy this ${what} now`}>
          The {what} is shown only once. The service stores only its hash. {remedy}
        </Alert>
        <Command value={secret} what={what} />
        {children}
        {isLeaving ? (
          <Alert color="red" role="alert" title={`Close without the ${what}?`}>
            <Text size="sm" mb="sm">
              The {what} cannot be shown again. {loss}
            </Text>
            <Group gap="xs">
              <Button size="xs" variant="default" onClick={() => setIsLeaving(false)}>
                Back to the {what}
              </Button>
              <Button size="xs" color="red.9" onClick={onClose}>
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
              <Button disabled={!isKept} onClick={onClose}>
                Done
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Dialog>
  );
}

/** While `isOn`, the browser asks before it leaves the page and loses the secret. */
function useWarningOnLeave(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isOn]);
}
