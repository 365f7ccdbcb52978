// The state of an alert, and the button that acknowledges it.
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Alert } from '../../../protocol/alerts.ts';
import { ask } from '../../api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Problem } from '../../ui/states.tsx';

export function AlertState({ alert }: { alert: Alert }) {
  const queries = useQueryClient();
  const params = { id: alert.id };
  const acknowledge = useMutation({
    mutationFn: () => ask('POST /api/v1/alerts/:id/acknowledge', { params }),
    // Also a list of which older alerts are shown.
    onSuccess: () => queries.invalidateQueries({ queryKey: ['alerts'] }),
  });
  if (alert.closed_at !== null) return <Badge tone="plain">closed</Badge>;
  if (alert.acknowledged_at !== null) return <Badge tone="plain">acknowledged</Badge>;
  return (
    <>
      <Button size="compact-xs" onClick={() => acknowledge.mutate()}>
        Acknowledge
      </Button>
      <Problem of={acknowledge} />
    </>
  );
}
