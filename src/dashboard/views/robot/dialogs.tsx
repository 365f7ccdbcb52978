// The dialogs of a robot's page, which load when one of them opens.
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { ConfirmDeletion, FormDialog } from '../../ui/dialog.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';
import RobotForm from '../robots/robot-form.tsx';

interface DialogProps {
  robot: Robot;
  onClose: () => void;
}

/** Replaces a robot's key by a new one, which is shown once. */
function RotateKey({ robot, onClose }: DialogProps) {
  const queries = useQueryClient();
  const rotate = async () => {
    const params = { id: robot.id };
    const { api_key: value } = await ask('POST /api/v1/robots/:id/rotate-key', { params });
    showSecret(queries, { what: 'key', of: robot.name, value });
  };
  const hasKey = robot.key_hint !== null;
  return (
    <FormDialog
      title={hasKey ? `Rotate the key of ${robot.name}` : `Create a key for ${robot.name}`}
      submit={hasKey ? 'Rotate key' : 'Create a key'}
      onSubmit={rotate}
      onClose={onClose}
    >
      <Text size="md">
        {hasKey && 'The current key stops working immediately. '}
        The robot cannot call the service until it has the new key.
      </Text>
    </FormDialog>
  );
}

/** Ends a robot's key, for instance after a leak. The robot's data stays. */
function RevokeKey({ robot, onClose }: DialogProps) {
  return (
    <FormDialog
      title={`Revoke the key of ${robot.name}`}
      submit="Revoke key"
      isDangerous
      onSubmit={() => ask('DELETE /api/v1/robots/:id/key', { params: { id: robot.id } })}
      onClose={onClose}
    >
      <Text size="md">
        The key stops working immediately. The robot cannot call the service until you create a new
        key. Its tasks, proofs and telemetry remain.
      </Text>
    </FormDialog>
  );
}

function DeleteRobot({ robot, onClose }: DialogProps) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDeletion
      word={robot.name}
      title={`Delete ${robot.name}`}
      onClose={onClose}
      onSubmit={async () => {
        await ask('DELETE /api/v1/robots/:id', { params: { id: robot.id } });
        navigate('/robots');
        queries.removeQueries({ queryKey: ['robots', robot.id] });
      }}
    >
      This deletes its tasks, telemetry and events, and its key stops working immediately. Proofs
      that the service accepted are still anchored and charged. They can no longer be looked up
      here, but saved bundles stay valid.
    </ConfirmDeletion>
  );
}

const dialogs = { edit: RobotForm, rotate: RotateKey, revoke: RevokeKey, delete: DeleteRobot };

interface RobotDialogProps extends DialogProps {
  name: keyof typeof dialogs;
}

export default function RobotDialog({ name, ...props }: RobotDialogProps) {
  const Dialog = dialogs[name];
  return <Dialog {...props} />;
}
