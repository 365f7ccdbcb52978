import { Alert, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Command } from '../../ui/copy.tsx';

interface NewKeyProps {
  apiKey: string;
  onClose: () => void;
}

/** A robot's key, the only time that it can be seen. */
export function NewKey({ apiKey, onClose }: NewKeyProps) {
  const [kept, setKept] = useState(false);
  return (
    <Stack>
      <Alert color="yellow" title="Copy this key now">
        It is shown this once. The service keeps only its hash; whoever has lost it rotates it.
      </Alert>
      <Command value={apiKey} what="key" />
      <div>
        <Text size="sm" mb={6}>
          Paste this on the robot. It keeps the key in a file that only its user can read, and asks
          the service who it is:
        </Text>
        <Command value={commandFor(apiKey)} what="command" />
      </div>
      <Checkbox
        label="I have kept the key"
        checked={kept}
        onChange={({ currentTarget }) => setKept(currentTarget.checked)}
      />
      <Group justify="flex-end">
        <Button disabled={!kept} onClick={onClose}>
          Done
        </Button>
      </Group>
    </Stack>
  );
}

/** Neither `printf`, which a shell does itself, nor `curl` has the key among its arguments for others to see. */
function commandFor(apiKey: string): string {
  return [
    `(umask 077 && printf '%s\\n' '${apiKey}' > robot-key)`,
    `sed 's/^/Authorization: Bearer /' robot-key | curl -fsS -H @- ${location.origin}/api/v1/robot`,
  ].join('\n');
}
