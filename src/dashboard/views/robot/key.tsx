// The dialogs for a robot's key: rotate, revoke, show once.
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Robot } from '../../../protocol/resources.ts';
import { ask, type Reply } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { Command } from '../../ui/values.tsx';

interface RotateKeyProps {
  robot: Robot;
  onClose: () => void;
}

/** Replaces a robot's key by a new one, which is shown once. */
export function RotateKey({ robot, onClose }: RotateKeyProps) {
  const queries = useQueryClient();
  const [made, setMade] = useState<Reply<'POST /api/v1/robots/:id/rotate-key'>>();
  if (made) return <KeyDialog robot={robot.name} apiKey={made.api_key} onClose={onClose} />;
  const rotate = async () => {
    const reply = await ask('POST /api/v1/robots/:id/rotate-key', { params: { id: robot.id } });
    // The robot may load after its key is shown.
    queries.invalidateQueries({ queryKey: ['robots'] });
    return reply;
  };
  const hasKey = robot.key_hint !== null;
  return (
    <FormDialog
      title={hasKey ? `Rotate the key of ${robot.name}` : `Create a key for ${robot.name}`}
      submit={hasKey ? 'Rotate key' : 'Create a key'}
      onSubmit={rotate}
      onDone={setMade}
      onClose={onClose}
    >
      <Text>
        {hasKey
          ? 'The current key stops working immediately. The robot cannot call the service until it has the new key.'
          : 'The robot cannot call the service until it has the new key.'}
      </Text>
    </FormDialog>
  );
}

interface RevokeKeyProps {
  robot: Robot;
  onClose: () => void;
}

/** Ends a robot's key, for instance after a leak. The robot's data stays. */
export function RevokeKey({ robot, onClose }: RevokeKeyProps) {
  const queries = useQueryClient();
  return (
    <FormDialog
      title={`Revoke the key of ${robot.name}`}
      submit="Revoke key"
      isDangerous
      onSubmit={async () => {
        await ask('DELETE /api/v1/robots/:id/key', { params: { id: robot.id } });
        await queries.invalidateQueries({ queryKey: ['robots'] });
      }}
      onDone={onClose}
      onClose={onClose}
    >
      <Text>
        The key stops working immediately. The robot cannot call the service until you create a new
        key. Its tasks, proofs and telemetry remain.
      </Text>
    </FormDialog>
  );
}

interface KeyDialogProps {
  robot: string;
  apiKey: string;
  onClose: () => void;
}

/** Shows a robot's key, the only time that it is visible. */
export function KeyDialog({ robot, apiKey, onClose }: KeyDialogProps) {
  return (
    <SecretDialog
      title={`Key of ${robot}`}
      what="key"
      secret={apiKey}
      remedy="If you lose the key, rotate it."
      loss={`${robot} would need a new one.`}
      onClose={onClose}
    >
      <div>
        <Text size="sm" mb={6}>
          With svc-agent, run this on the robot, paste the key, then press Enter and Ctrl-D. The
          agent checks the key with the service and stores it where no other user can read it:
        </Text>
        <Command value="sudo svc-agent key set" what="command" />
      </div>
      <div>
        <Text size="sm" mb={6}>
          Without the agent, paste the key in the same way into a file that only its user can read.
          A key in a command would stay in the history of the shell.
        </Text>
        <Command value="(umask 077 && cat > robot-key)" what="command for a file" />
      </div>
    </SecretDialog>
  );
}
